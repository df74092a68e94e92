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
#include <functional>
#include <limits>
#include <utility>

namespace fray::client {

class WakeBudget {
 public:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  // `cpus` is asked once, when more than a few are to be woken: it reads a dozen files, and most workers call no actors.
  explicit WakeBudget(std::function<double()> cpus) : cpus_(std::move(cpus)) {}

  // Whether an actor that rests may be woken at once.
  bool take() { return woken_++ < kFewest || woken_ <= most(); }
  void answered() { any_answered_ = true; }
  // The backup thread looks, a millisecond after it looked last or later.
  std::size_t refill() {
    woken_ = 0;
    return std::exchange(any_answered_, false) ? most() : kAll;
  }
  // A thread waits for results, so all goes out.
  void reset() { woken_ = 0; }

 private:
  static constexpr std::size_t kFewest = 4;

  std::size_t most() {
    if (most_ == 0) most_ = std::max(kFewest, static_cast<std::size_t>(2 * cpus_()));
    return most_;
  }

  std::function<double()> cpus_;
  std::size_t most_ = 0;   // 0 until it is needed
  std::size_t woken_ = 0;  // since the last look or wait
  bool any_answered_ = false;
};

}  // namespace fray::client
