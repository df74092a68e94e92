// Messages about waits that last: the node looks for circles among them (actor/wait_graph.h).
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    decode() returns kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "model/call_wait.h"
#include "wire/bytes.h"
#include "wire/control.h"

namespace fray::wire {

// A call waits, with no limit of time. id: the process's number of the wait. Sent again when the node asks.
struct CallWaits {
  static constexpr ControlType kType = ControlType::kCallWaits;
  std::uint64_t probe = 0;  // that this answers; 0: none
  CallWait wait;
  void encode(ByteWriter& out) const;
  static Result<CallWaits> decode(std::string_view body);
};

}  // namespace fray::wire
