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
  std::uint64_t asked_bytes = 0;  // by what it was leased for; 0: nothing was said
  bool runs_a_task = false;
  std::uint64_t started_ns = 0;  // its task
};

// The largest idle worker first, for that costs nothing. Then the task that was started last: the older it is the more
// would be lost, and the oldest one gets through. Tasks that keep to what they asked for come after those that asked for
// nothing, and what uses less than its share of all is left alone.
std::optional<MemoryUse> choose_victim(std::span<const MemoryUse> workers);

}  // namespace fray::node
