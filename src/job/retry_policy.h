// RetryPolicy: whether a job gets another attempt, and when.
//
// Failures and preemptions have a budget each. After the first preemption the next attempt comes at once. Every other
// attempt comes after a pause, which begins at a second and doubles up to a minute; after an attempt that ran for a
// minute it begins at a second again.
//
// Threading:  confined to its owner.
// Ownership:  numbers.
// Failure:    none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace fray::job {

using Moment = std::chrono::nanoseconds;  // of a clock that never goes back, since whenever

class RetryPolicy {
 public:
  static constexpr Moment kFirstDelay = std::chrono::seconds(1);
  static constexpr Moment kLongestDelay = std::chrono::seconds(60);
  static constexpr Moment kSteady = std::chrono::seconds(60);

  RetryPolicy(std::uint32_t max_failures, std::uint32_t max_preemptions)
      : max_failures_(max_failures), max_preemptions_(max_preemptions) {}
  // Of a job that a node before this one began.
  void restore(std::uint32_t failures, std::uint32_t preemptions);

  // Each returns the pause before the next attempt, which counts from now on; none when the budget is used up.
  std::optional<Moment> failed(Moment ran_for);
  std::optional<Moment> preempted(Moment ran_for);

  std::uint32_t failures() const { return failures_; }
  std::uint32_t preemptions() const { return preemptions_; }

 private:
  Moment next_delay(Moment ran_for);

  std::uint32_t max_failures_;
  std::uint32_t max_preemptions_;
  std::uint32_t failures_ = 0;
  std::uint32_t preemptions_ = 0;
  Moment delay_ = kFirstDelay;
};

}  // namespace fray::job
