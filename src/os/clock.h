// The monotonic clock: the only one by which anything in the engine is timed.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    none.
#pragma once

#include <cstdint>

#include <time.h>

namespace fray::os {

inline std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ull + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace fray::os
