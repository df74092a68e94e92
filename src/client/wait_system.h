// WaitSystem: what WaitKernel runs on outside of the simulator: the client's mutex, eventfds, poll() and the clock.
//
// Threading:  a Bell may be rung from any thread, also without a lock.
// Ownership:  a Bell owns its eventfd.
// Failure:    none; a full eventfd counter is readable all the same.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>
#include <vector>

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/client_mutex.h"
#include "client/wait_kernel.h"
#include "os/fd.h"

namespace fray::client {

using Clock = std::chrono::steady_clock;

struct WaitSystem {
  using Mutex = ClientMutex;
  using Lock = ClientLock;
  using Condition = ClientCondition;
  using Flag = std::atomic<bool>;
  using TimePoint = Clock::time_point;
  using Watched = std::vector<pollfd>;

  class Bell {
   public:
    Bell() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    void ring() {
      std::uint64_t one = 1;
      [[maybe_unused]] ssize_t written = ::write(event_.get(), &one, sizeof(one));
    }
    void take() {
      std::uint64_t count = 0;
      [[maybe_unused]] ssize_t got = ::read(event_.get(), &count, sizeof(count));
    }
    int fd() const { return event_.get(); }

   private:
    os::Fd event_;
  };

  static constexpr int ticks_before_sleep() { return 100; }
  static TimePoint now() { return Clock::now(); }
  static void yield() { ::sched_yield(); }

  // Sleeps until a socket of `set` is ready, the bell is rung, a signal arrives at this thread, or the time is over
  // (-1: never).
  static Woke sleep(Watched& set, Bell& bell, int milliseconds) {
    set.push_back({bell.fd(), POLLIN, 0});
    const int events = ::poll(set.data(), set.size(), milliseconds);
    if (events > 0 && (set.back().revents & POLLIN) != 0) bell.take();
    return events > 0 ? Woke::kEvent : events < 0 ? Woke::kSignal : Woke::kTime;
  }
  static void nap(Watched& set, std::chrono::nanoseconds span) {
    const timespec time{0, static_cast<long>(span.count())};
    ::ppoll(set.data(), set.size(), &time, nullptr);
  }
};

class Reading;
using ReadingKernel = WaitKernel<WaitSystem, Reading>;

}  // namespace fray::client
