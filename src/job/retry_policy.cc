#include "job/retry_policy.h"

#include <algorithm>

namespace fray::job {

void RetryPolicy::restore(std::uint32_t failures, std::uint32_t preemptions) {
  failures_ = failures;
  preemptions_ = preemptions;
}

Moment RetryPolicy::next_delay(Moment ran_for) {
  if (ran_for >= kSteady) delay_ = kFirstDelay;
  const Moment delay = delay_;
  delay_ = std::min(2 * delay_, kLongestDelay);
  return delay;
}

std::optional<Moment> RetryPolicy::failed(Moment ran_for) {
  if (failures_ >= max_failures_) return std::nullopt;
  ++failures_;
  return next_delay(ran_for);
}

std::optional<Moment> RetryPolicy::preempted(Moment ran_for) {
  if (preemptions_ >= max_preemptions_) return std::nullopt;
  if (++preemptions_ == 1) return Moment(0);
  return next_delay(ran_for);
}

}  // namespace fray::job
