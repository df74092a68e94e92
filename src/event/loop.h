// Loop: waits for descriptors and timers and calls what was registered for them. Level-triggered epoll.
//
//   auto loop = Loop::create().value();
//   loop->add(fd, EPOLLIN, [&](std::uint32_t events) { ... });
//   loop->after(1s, [] { ... });
//   loop->run();
//
// One pass over all ready descriptors is a *round*. After each round the hook learns whether it was complete: no ready
// descriptor was left out, and no callback said leave_rest() because it stopped before its socket was empty. What had
// been written to any socket before a complete round began has been read when it ends (the grace round of
// docs/decisions/0001).
//
// Threading:  one thread.
// Ownership:  owns callbacks, not descriptors. A callback may remove any descriptor or timer, its own as well.
// Failure:    add() returns kIoError when the kernel refuses. Nothing is polled or ticked: an idle loop uses no CPU.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include <sys/epoll.h>

#include "base/status.h"
#include "os/fd.h"

namespace fray::event {

using TimerId = std::uint64_t;  // never 0

class Loop {
 public:
  using Callback = std::function<void(std::uint32_t events)>;
  using Clock = std::chrono::steady_clock;

  static Result<std::unique_ptr<Loop>> create();

  Status add(int fd, std::uint32_t events, Callback callback);
  void change(int fd, std::uint32_t events);
  void remove(int fd);  // before the descriptor is closed

  TimerId after(std::chrono::nanoseconds delay, std::function<void()> callback);
  void cancel(TimerId timer);

  void set_round_hook(std::function<void(bool complete)> hook) { hook_ = std::move(hook); }
  // Another round follows at once, even if nothing is ready.
  void request_round() { round_requested_ = true; }
  // For a callback that has left something unread.
  void leave_rest() { round_complete_ = false; }

  // Runs until stop().
  void run();
  void stop() { stopped_ = true; }
  // One round; waits at most `limit`. For tests and for shutting down.
  void run_once(std::chrono::milliseconds limit);

 private:
  struct Watch {
    int fd = -1;
    bool removed = false;
    Callback callback;
  };

  explicit Loop(os::Fd epoll) : epoll_(std::move(epoll)) {}

  int timeout_ms(std::chrono::milliseconds limit) const;
  void run_timers();

  os::Fd epoll_;
  std::unordered_map<int, std::unique_ptr<Watch>> watches_;
  std::vector<std::unique_ptr<Watch>> removed_;  // freed when the round is over
  std::map<std::pair<Clock::time_point, TimerId>, std::function<void()>> timers_;
  std::unordered_map<TimerId, Clock::time_point> timer_times_;
  TimerId next_timer_ = 1;
  std::function<void(bool)> hook_;
  bool round_requested_ = false;
  bool round_complete_ = true;
  bool stopped_ = false;
};

}  // namespace fray::event
