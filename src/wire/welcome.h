// The node's answer to a hello.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    decode() returns kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <string_view>

#include "model/resource_set.h"
#include "wire/session.h"

namespace fray::wire {

struct Welcome {
  static constexpr ControlType kType = ControlType::kWelcome;
  Session session;
  ResourceSet total;
  void encode(ByteWriter& out) const;
  static Result<Welcome> decode(std::string_view body);
};

}  // namespace fray::wire
