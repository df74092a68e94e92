// Backoff: rests between tries, each longer than the one before, until a deadline or an interrupt.
//
//   Backoff backoff(endpoint, {.first = 200ms, .longest = 3s, .patience = 60s});
//   do {
//     ...
//   } while (backoff.rest());
//
// Threading:  one thread; rest() sleeps.
// Ownership:  the endpoint must outlive it.
// Failure:    rest() is false when the patience is over, or the endpoint says that its user has interrupted;
//             was_interrupted() tells which.
#pragma once

#include <chrono>

#include "http_client/endpoint.h"

namespace fray::http_client {

class Backoff {
 public:
  struct Rests {
    std::chrono::milliseconds first{200};
    std::chrono::milliseconds longest{3'000};
    std::chrono::milliseconds patience{60'000};
  };

  Backoff(const Endpoint& endpoint, Rests rests)
      : endpoint_(endpoint), rests_(rests), next_(rests.first), deadline_(Clock::now() + rests.patience) {}

  bool rest();
  bool is_over() const { return Clock::now() >= deadline_; }
  bool was_interrupted() const { return interrupted_; }

 private:
  using Clock = std::chrono::steady_clock;

  const Endpoint& endpoint_;
  const Rests rests_;
  std::chrono::milliseconds next_;
  const Clock::time_point deadline_;
  bool interrupted_ = false;
};

// Sleeps; false when interrupted.
bool pause(const Endpoint& endpoint, std::chrono::milliseconds length);

}  // namespace fray::http_client
