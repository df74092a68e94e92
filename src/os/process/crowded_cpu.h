// CrowdedCpu: whether other threads want the CPU of a thread that looks for what is about to arrive, so that it had better
// sleep instead.
//
//   if (!crowd.wants_cpu(now_ns)) {
//     crowd.yield(now_ns);                // and look again
//   } else ...                            // sleep
//
// A thread that looks yields between two looks. That takes a microsecond on a CPU that nobody else wants. On one that
// somebody computes on, the kernel gives away the rest of the thread's time slice: it comes back after some
// milliseconds, whatever arrives meanwhile, while a thread that sleeps is woken at once. So after a yield that took long
// the thread does not look for a while, which doubles while this goes on, and is short after a single one.
//
// Threading:  one thread at a time.
// Ownership:  values.
// Failure:    none; a yield that took long for another reason costs a few sleeps.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sched.h>

#include "os/clock.h"

namespace fray::os {

class CrowdedCpu {
 public:
  static constexpr std::uint64_t kLongNs = 200'000;
  static constexpr std::uint64_t kShortestRestNs = 2'000'000;
  static constexpr std::uint64_t kLongestRestNs = 128'000'000;

  bool wants_cpu(std::uint64_t now_ns) const { return now_ns < until_ns_; }

  void yield(std::uint64_t now_ns) {
    ::sched_yield();
    note_yield(now_ns, monotonic_ns());
  }
  void note_yield(std::uint64_t before_ns, std::uint64_t after_ns) {
    if (after_ns - before_ns < kLongNs) return;
    const bool goes_on = before_ns < until_ns_ + 2 * rest_ns_;
    rest_ns_ = goes_on ? std::min(2 * rest_ns_, kLongestRestNs) : kShortestRestNs;
    until_ns_ = after_ns + rest_ns_;
  }

 private:
  std::uint64_t until_ns_ = 0;
  std::uint64_t rest_ns_ = 0;
};

}  // namespace fray::os
