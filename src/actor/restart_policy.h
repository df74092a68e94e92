// RestartPolicy: whether an actor whose worker is gone gets another one, and when.
//
// The first restart comes at once, the next after 100 ms, then each after twice the time of the one before, 10 s at
// most. After an incarnation that answered calls for a while (kSteady), or was ended by kill(), the next restart comes
// at once again. So an actor that dies in its constructor again and again costs the machine next to nothing.
//
// Threading:  confined to its owner.
// Ownership:  numbers.
// Failure:    none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace fray::actor {

using Moment = std::chrono::nanoseconds;  // of a clock that never goes back, since whenever

class RestartPolicy {
 public:
  static constexpr Moment kFirstDelay = std::chrono::milliseconds(100);
  static constexpr Moment kLongestDelay = std::chrono::seconds(10);
  static constexpr Moment kSteady = std::chrono::seconds(2);

  explicit RestartPolicy(std::int32_t max_restarts) : max_restarts_(max_restarts) {}

  void constructed(Moment now) { alive_since_ = now; }
  // The moment of the restart, which counts from now on; none when no restart is left.
  std::optional<Moment> worker_lost(Moment now, bool killed);

  std::uint32_t restarts() const { return restarts_; }
  std::int32_t max_restarts() const { return max_restarts_; }

 private:
  std::int32_t max_restarts_;  // below zero: no limit
  std::uint32_t restarts_ = 0;
  Moment delay_{0};  // of the next restart
  std::optional<Moment> alive_since_;
};

}  // namespace fray::actor
