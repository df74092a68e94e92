// Retention: which jobs that have ended are remembered. More than `jobs`, or older than `age`: the ones that ended first are
// forgotten. Too many alone is no reason within an hour of their end: whoever started them may still ask.
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
