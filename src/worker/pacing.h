// The times that the loops of workers wait, and the amounts that they collect, before they act; the same for tasks and
// actors.
//
// Threading:  constants.
// Ownership:  none.
// Failure:    none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace fray::worker {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kSpinNs = 20'000;       // of looking for the next frame before the thread sleeps
constexpr std::size_t kFlushBytes = 64u << 10;  // of answers that are collected before they are sent

// Of a thread that other processes wake: with an end, lest it looks as if only this process could (os/process/thread_rest.h).
constexpr std::chrono::hours kLongSleep{1};

}  // namespace fray::worker
