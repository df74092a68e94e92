// PlayedSystem: what WaitKernel runs on in the simulator, in place of WaitSystem (client/threads/wait_system.h): locks, bells,
// an alarm, signals, sleeps and the clock of the schedule that runs now. Each call may be the moment at which another thread
// goes on.
//
// Threading:  threads of one WaitSchedule, of which one runs at a time.
// Ownership:  values; `wakes` and `crowded` are those of the world that runs.
// Failure:    none.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "client/sim/wait_world_schedule.h"
#include "client/threads/client_mutex.h"
#include "client/threads/wait_kernel.h"
#include "os/process/crowded_cpu.h"

namespace fray::client::played {

using namespace std::chrono_literals;
using TimePoint = WaitSchedule::TimePoint;

constexpr auto kYield = 7us;
// A yield that gives the CPU to another program.
constexpr auto kLongYield = std::chrono::microseconds(os::CrowdedCpu::kLongNs / 1000);
constexpr int kNoObject = -1;

inline WaitSchedule& schedule() { return WaitSchedule::current(); }

class PlayedMutex {
 public:
  void lock() FRAY_ACQUIRE(client_mutex) FRAY_UNCHECKED_LOCKING {
    schedule().step();
    schedule().block([this] { return !held_; }, TimePoint::max(), true);
    held_ = true;
  }
  void unlock() FRAY_RELEASE(client_mutex) FRAY_UNCHECKED_LOCKING {
    held_ = false;
    schedule().step();
  }

 private:
  bool held_ = false;
};

class FRAY_SCOPED_CAPABILITY PlayedLock {
 public:
  explicit PlayedLock(PlayedMutex& mutex) FRAY_ACQUIRE(client_mutex) FRAY_UNCHECKED_LOCKING : mutex_(mutex) {
    mutex_.lock();
    locked_ = true;
  }
  ~PlayedLock() FRAY_RELEASE() FRAY_UNCHECKED_LOCKING {
    if (locked_) mutex_.unlock();
  }
  PlayedLock(const PlayedLock&) = delete;
  PlayedLock& operator=(const PlayedLock&) = delete;
  void unlock() FRAY_RELEASE() FRAY_UNCHECKED_LOCKING {
    locked_ = false;
    mutex_.unlock();
  }
  PlayedMutex& mutex() { return mutex_; }

 private:
  PlayedMutex& mutex_;
  bool locked_ = false;
};

class PlayedCondition {
 public:
  void notify_all() {
    ++round_;
    schedule().step();
  }
  void wait_until(PlayedLock& lock, TimePoint until) FRAY_UNCHECKED_LOCKING {
    const std::uint64_t round = round_;
    if (schedule().random().percent(1)) until = schedule().now();  // it may wake up for no reason
    lock.mutex().unlock();
    schedule().block([this, round] { return round_ != round; }, until);
    lock.mutex().lock();
  }

 private:
  std::uint64_t round_ = 0;
};

class PlayedFlag {
 public:
  PlayedFlag(bool value) : value_(value) {}  // NOLINT: as std::atomic
  PlayedFlag& operator=(bool value) {
    schedule().step();
    value_ = value;
    return *this;
  }
  bool exchange(bool value) {
    schedule().step();
    return std::exchange(value_, value);
  }
  operator bool() const {  // NOLINT: as std::atomic
    schedule().step();
    return value_;
  }

 private:
  bool value_;
};

class PlayedBell {
 public:
  void ring() {
    rung_ = true;
    schedule().step();
  }
  bool is_rung() const { return rung_; }
  void take() {
    schedule().step();
    rung_ = false;
  }

 private:
  bool rung_ = false;
};

class PlayedAlarm {
 public:
  void set(std::chrono::nanoseconds span) {
    schedule().step();
    when_ = schedule().now() + span;
  }
  void cancel() {
    schedule().step();
    when_ = TimePoint::max();
  }
  const TimePoint* when() const { return &when_; }

 private:
  TimePoint when_ = TimePoint::max();
};

class PlayedSignals {
 public:
  void note() { came_ = true; }
  bool has_come() const { return came_; }
  bool take() {
    schedule().step();
    return std::exchange(came_, false);
  }

 private:
  bool came_ = false;
};

struct Frame {
  int object = kNoObject;
  TimePoint arrived;
};

// A socket and who is at its other end.
struct Channel {
  enum class Peer : std::uint8_t { kNode, kWorker, kActor, kDuty };
  Peer peer = Peer::kWorker;
  std::deque<Frame> frames;
  int unanswered = 0;

  bool armed = false;  // kDuty: the backup thread sleeps on it

  bool is_watched() const { return peer != Peer::kActor || unanswered > 0; }
  bool is_busy() const { return peer == Peer::kNode || unanswered > 0; }
  bool is_readable() const { return !frames.empty() && (peer != Peer::kDuty || armed); }
};

struct PlayedSystem {
  using Mutex = PlayedMutex;
  using Lock = PlayedLock;
  using Condition = PlayedCondition;
  using Flag = PlayedFlag;
  using Bell = PlayedBell;
  using TimePoint = WaitSchedule::TimePoint;
  using Watched = std::vector<const Channel*>;

  static TimePoint now() { return schedule().now(); }
  static void yield() {
    schedule().spend(crowded && schedule().random().percent(3) ? kLongYield : kYield);
    schedule().step();
  }
  static bool is_readable(const Watched& set) { return std::ranges::any_of(set, &Channel::is_readable); }
  static void sleep(const Watched& set, PlayedBell& bell, TimePoint until) {
    schedule().step();
    schedule().block([&] { return bell.is_rung() || is_readable(set); }, until);
    if (bell.is_rung()) bell.take();
  }
  static BackupWoken sleep_as_backup(const Watched& set, PlayedBell& bell, const PlayedAlarm& alarm,
                                     const PlayedSignals& signals, TimePoint until) {
    schedule().step();
    schedule().block([&] { return bell.is_rung() || signals.has_come() || is_readable(set); }, until, false,
                     alarm.when());
    if (bell.is_rung()) bell.take();
    ++wakes;
    return {*alarm.when() <= now(), signals.has_come()};
  }

  using Alarm = PlayedAlarm;
  using Signals = PlayedSignals;
  // How late may be what is done in time: by spins, and by yields to other programs.
  static std::chrono::microseconds slack() { return crowded ? 300us : 200us; }
  static inline std::uint64_t wakes = 0;  // of the backup thread
  static inline bool crowded = false;     // others want the CPU, too
};

}  // namespace fray::client::played
