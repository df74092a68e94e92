// choose_victim: which worker is killed when the machine or its container runs short of memory.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    it names no worker when killing one would free nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "model/ids.h"

namespace fray::node {

struct MemoryUse {
  ProcessId worker = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t asked_bytes = 0;  // by the shape of its lease; 0: the lease asks for none
  bool is_idle = false;           // it runs no task and is no actor
  bool comes_back = true;         // what it runs is tried again elsewhere; false: an actor that is never restarted
  std::uint64_t started_ns = 0;   // when its task, or the last call of its actor, began
};

// The largest idle worker is killed first, because no work is lost with it. Among others, those that use more than they
// asked for come first, then those that come back, and of these the one that was started last: the older a task is the more
// work would be lost, and the oldest one is to finish. A worker stays that uses less than the mean of its like, or next to
// nothing beside the largest one.
std::optional<MemoryUse> choose_victim(std::span<const MemoryUse> workers);

}  // namespace fray::node
