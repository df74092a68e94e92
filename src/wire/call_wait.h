// Messages about waits that last: the node looks for circles among them (actor/wait_graph.h).
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <cstdint>

#include "model/call_wait.h"
#include "wire/control.h"

namespace fray::wire {

// A call waits, with no limit of time. id: the number that the process gives to the wait. The message is sent again for
// each probe of the node.
struct CallWaits {
  static constexpr ControlType kType = ControlType::kCallWaits;
  std::uint64_t probe = 0;  // the probe that this answers; 0: none
  CallWait wait;

  FRAY_FIELDS(probe, wait);
};

}  // namespace fray::wire
