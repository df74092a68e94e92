// The clocks: the monotonic one, by which everything in the engine is timed, and the wall clock, by which people date what
// happened.
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

// Nanoseconds since 1970 by the machine's wall clock, which may jump.
inline std::int64_t unix_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace fray::os
