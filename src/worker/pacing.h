// The times that the loops of workers wait, and the amounts that they collect, before they act; the same for tasks and
// actors.
//
// Threading:  constants.
// Ownership:  none.
// Failure:    none.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace fray::worker {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kSpinNs = 20'000;         // of looking for the next frame before the thread sleeps
constexpr std::uint64_t kSlowNs = 1'000'000;      // a task that has run so long is slow: others do not wait for its end
constexpr std::uint64_t kShortNs = 200'000;       // a task that took less is likely to be short again
constexpr std::uint64_t kPatienceNs = 5'000'000;  // with such a task, if nobody else waits for its end
constexpr std::size_t kFlushBytes = 64u << 10;    // of answers that are collected before they are sent

inline std::chrono::steady_clock::time_point time_of(std::uint64_t monotonic_ns) {
  constexpr std::uint64_t kMostNs = 1ull << 62;
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(std::min(monotonic_ns, kMostNs)));
}

// How long a thread sleeps that other processes wake. A sleep without an end would look as if only this process could wake it
// (os/process/thread_rest.h).
constexpr std::chrono::hours kLongSleep{1};

}  // namespace fray::worker
