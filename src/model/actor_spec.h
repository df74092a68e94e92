// ActorSpec: what an actor is to be, as its creator asked for it. The constructor itself (class and arguments) is bytes
// that the node keeps beside it.
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    none; the ActorTable checks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/ids.h"
#include "model/work_shape.h"

namespace fray {

struct ActorSpec {
  static constexpr std::int32_t kNoRestartLimit = -1;

  ActorId id;
  ProcessId home = 0;  // a number of no process, drawn by the node: asks for the actor's workers, holds its arguments
  // Whose end is the actor's end, unless it is detached: a driver, a job, or the home of a detached actor (for what
  // that one's tree creates).
  ProcessId root = 0;
  ProcessId creator = 0;
  std::string name_space = "default";
  std::optional<std::string> name;
  std::string class_name;
  bool detached = false;
  bool get_if_exists = false;     // return a living actor of that name
  std::int32_t max_restarts = 0;  // kNoRestartLimit: as often as it takes
  WorkShape shape;                // its resources are held for the actor's life, also while it waits
};

}  // namespace fray
