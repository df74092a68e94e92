// WakeBudget: how many actors that rest a client wakes at a time.
//
// A call wakes the process of an actor that rests, and that process takes the CPU from the one that calls. A program that
// calls a thousand actors in turn would be interrupted by each of them, and wake each again for its next call. So calls
// beyond a few go out later: when the program waits, when the backup thread looks, at most so many each time, or all of them
// where no actor has answered since it looked last, because those that were woken may sleep for long.
//
//   if (budget.take()) send();              // else it is held back
//   std::size_t most = budget.refill();     // a look: so many of what was held back may go out
//
// Threading:  guarded by the client's mutex.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace fray::client {

class WakeBudget {
 public:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  explicit WakeBudget(double cpus) : most_(std::max<std::size_t>(4, static_cast<std::size_t>(2 * cpus))) {}

  // Whether an actor that rests may be woken at once.
  bool take() { return woken_++ < most_; }
  void answered() { any_answered_ = true; }
  // The backup thread looks, a millisecond after it looked last or later.
  std::size_t refill() {
    woken_ = 0;
    return std::exchange(any_answered_, false) ? most_ : kAll;
  }
  // A thread waits for results, so all goes out.
  void reset() { woken_ = 0; }

 private:
  const std::size_t most_;
  std::size_t woken_ = 0;  // since the last look or wait
  bool any_answered_ = false;
};

}  // namespace fray::client
