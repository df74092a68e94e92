// WaitSystem: what WaitKernel runs on outside of the simulator: the client's mutex, eventfds, a timer, poll() and the clock.
//
// Threading:  a Bell may be rung from any thread, also without a lock.
// Ownership:  a Bell owns its eventfd.
// Failure:    none; a full eventfd counter is readable all the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <vector>

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "client/threads/client_mutex.h"
#include "client/threads/signal_pipe.h"
#include "client/threads/wait_kernel.h"
#include "os/alarm.h"
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

  using Alarm = os::Alarm;
  using Signals = SignalPipe;

  static TimePoint now() { return Clock::now(); }
  static void yield() { ::sched_yield(); }

  // Sleep until a socket of `set` is ready, they are rung, a signal arrives at this thread, or `until` has come.
  static void sleep(Watched& set, Bell& bell, TimePoint until) {
    set.push_back({bell.fd(), POLLIN, 0});
    if (poll(set, until) && (set.back().revents & POLLIN) != 0) bell.take();
  }
  static BackupWoken sleep_as_backup(Watched& set, Bell& bell, const Alarm& alarm, const SignalPipe& signals,
                                     TimePoint until) {
    const std::size_t place = set.size();
    set.push_back({alarm.fd(), POLLIN, 0});
    set.push_back({signals.read_fd(), POLLIN, 0});
    sleep(set, bell, until);
    return {(set[place].revents & POLLIN) != 0, (set[place + 1].revents & POLLIN) != 0};
  }

 private:
  static timespec timespec_of(std::chrono::nanoseconds span) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(span);
    return {seconds.count(), static_cast<long>((span - seconds).count())};
  }
  static bool poll(Watched& set, TimePoint until) {
    if (until == TimePoint::max()) return ::poll(set.data(), set.size(), -1) > 0;
    const TimePoint begin = now();  // compared before it is subtracted: TimePoint::min() is a moment that has come, too
    const timespec left = until <= begin ? timespec{} : timespec_of(until - begin);
    return ::ppoll(set.data(), set.size(), &left, nullptr) > 0;
  }
};

class Reading;
using ReadingKernel = WaitKernel<WaitSystem, Reading>;

}  // namespace fray::client
