// Retention: which of the jobs that have ended are remembered. Jobs that ended longer ago than `age` are forgotten, and when
// there are more than `jobs`, those that ended first, but not within an hour of their end: programs that started them
// may still ask.
//
// Threading:  a value.
// Ownership:  none.
// Failure:    none.
#pragma once

#include <chrono>
#include <cstddef>

namespace fray::job {

struct Retention {
  std::size_t jobs = 1000;
  std::chrono::nanoseconds age = std::chrono::hours(24 * 30);
  std::chrono::nanoseconds at_least = std::chrono::hours(1);  // however many there are
};

}  // namespace fray::job
