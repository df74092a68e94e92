// The request for a new actor. Its class and arguments follow in ConstructActor (wire/actor.h), once they are ready.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <cstdint>
#include <string>

#include "model/ids.h"
#include "model/work_shape.h"
#include "wire/control.h"
#include "wire/resources.h"

namespace fray::wire {

struct CreateActor {
  static constexpr ControlType kType = ControlType::kCreateActor;
  ActorId actor;
  std::int32_t max_restarts = 0;  // -1: no limit
  bool detached = false;
  bool get_if_exists = false;
  bool event_loop = false;  // the calls will run in an event loop
  WorkShape shape;
  std::string name_space;
  std::string name;  // empty: none
  std::string class_name;
  std::string description;  // what handles that are made by name need; opaque to the engine

  FRAY_FIELDS(actor, max_restarts, detached, get_if_exists, event_loop, shape, name_space, name, class_name,
              description);
};

}  // namespace fray::wire
