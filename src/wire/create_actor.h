// What a new actor is to be. Its class and arguments follow in ConstructActor (wire/actor.h).
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    decode() returns kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/ids.h"
#include "model/work_shape.h"
#include "wire/bytes.h"
#include "wire/control.h"

namespace fray::wire {

struct CreateActor {
  static constexpr ControlType kType = ControlType::kCreateActor;
  ActorId actor;
  std::int32_t max_restarts = 0;  // -1: no limit
  bool detached = false;
  bool get_if_exists = false;
  bool event_loop = false;  // one will run its calls
  WorkShape shape;
  std::string name_space;
  std::string name;  // empty: none
  std::string class_name;
  std::string description;  // what handles that are made by name need; opaque to the engine
  void encode(ByteWriter& out) const;
  static Result<CreateActor> decode(std::string_view body);
};

}  // namespace fray::wire
