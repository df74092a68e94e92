#include "actor/restart_policy.h"

#include <algorithm>

namespace fray::actor {

std::optional<Moment> RestartPolicy::worker_lost(Moment now, bool killed) {
  const bool steady = alive_since_ && now - *alive_since_ >= kSteady;
  alive_since_.reset();
  if (max_restarts_ >= 0 && restarts_ >= static_cast<std::uint32_t>(max_restarts_)) return std::nullopt;
  ++restarts_;
  if (steady || killed) delay_ = Moment(0);
  const Moment due = now + delay_;
  delay_ = delay_.count() == 0 ? kFirstDelay : std::min(2 * delay_, kLongestDelay);
  return due;
}

}  // namespace fray::actor
