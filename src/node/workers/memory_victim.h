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
  bool runs_a_task = false;
  std::uint64_t started_ns = 0;  // when its task began
};

// The largest idle worker is killed first, because no work is lost with it. Then comes the task that was started last: the
// older a task is the more work would be lost, and the oldest one is to finish. Tasks that use no more than they asked for
// come after those that asked for nothing, and a task that uses less than the mean of all tasks is not killed.
std::optional<MemoryUse> choose_victim(std::span<const MemoryUse> workers);

}  // namespace fray::node
