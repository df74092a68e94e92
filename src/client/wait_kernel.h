// WaitKernel: which of a client's threads reads its sockets, which sleep until they are told, and when the backup thread
// takes over. It knows no socket, no table and no clock: `System` gives it locks, bells, sleep and time, and `Sources` is
// what it reads. Both are types, so that a call costs nothing; the simulator (client/wait_world.h) puts its own in place.
//
//   WaitKernel<WaitSystem, Reading> kernel(mutex, reading);
//   std::thread backup([&] { kernel.run_backup(); });
//   kernel.wait([&] { return object->is_ready(); }, deadline, waiter);
//
// A thread that waits *leads* when nobody else does: it sleeps in a poll of all sockets, reads what comes for everybody,
// and looks whether what it waits for is there. The others *follow*: they sleep on a condition until the leader, or the
// backup thread, has read something that somebody may wait for, or until nobody leads any more.
//
//            nobody reads                        its condition holds, deadline, interrupt, closed
//   wait() ────────────────▶ spin ─▶ lead ─────────────────────────────────────────────────────▶ returns
//     │                        ▲      │ ▲                                                            ▲
//     │ somebody reads         │      ▼ │ read                                                       │
//     └────────────────▶ follow┘    asleep in poll                     its condition holds, deadline ─┘
//
// The backup thread serves what nobody waits for. It ticks each millisecond as long as something was read or its duty has
// something to do; after System::ticks_before_sleep() ticks without either it sleeps in a poll as well.
//
// What a sleeper watches, and for how long, is fixed when it falls asleep. So whoever changes something under the mutex
// says changed() before it lets go of it, and sleepers that would miss the change are woken. Leader and backup thread have
// a bell each: of two that sleep on one, the first to take a ring would leave the other asleep.
//
// Threading:  any thread, under the client's mutex where it says so. The mutex is let go of for every sleep.
// Ownership:  borrows the mutex and the sources; owns the bells.
// Failure:    once the sources are closed every wait ends with kClosed. stop() ends run_backup().
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/function_ref.h"
#include "base/mutant.h"
#include "client/client_mutex.h"

namespace fray::client {

enum class WaitResult { kDone, kTimedOut, kInterrupted, kClosed, kDeadlock };

// What ended a sleep.
enum class Woke { kTime, kSignal, kEvent };

// What the backup thread has to do without being woken, as of now.
template <typename TimePoint>
struct BackupPlan {
  int tick = -1;                 // milliseconds between looks; -1: none is needed
  int look = -1;                 // the same, for what needs no waking when it comes to be
  std::optional<TimePoint> due;  // of a single look

  bool is_before(const BackupPlan& other) const {
    return (tick >= 0 && (other.tick < 0 || tick < other.tick)) || (due && (!other.due || *due < *other.due));
  }
};

// `Sources`, all under the mutex:
//   is_open()                         false: every wait ends
//   flush()                           what is buffered is sent: somebody is about to wait for its answers
//   read_all(), read_workers()        reads what has come, of all sockets or of those of workers, and acts on it
//   watch(set), watch_version()       the sockets to sleep on, and a number that grows when one joins them
//   watch_node(set)                   the node's alone
//   watch_duty(set)                   what the duty wants watched while the backup thread sleeps
//   deliver()                         hands on what reading has gathered for others than those who wait
//   serve(now)                        what is done from time to time, by the backup thread
//   plan()                            a BackupPlan
//   tick_duty()                       lets go of the mutex meanwhile; true: keep ticking
//
// `Waiter`, for one wait:
//   is_main_thread()                  signals land on this thread: it is asked whether to give up every 25 to 50 ms
//   begin(), end()                    under the mutex: the wait does not end at once; it ends
//   is_refused()                      under the mutex: it can never end
//   due(), fell_due()                 under the mutex: a moment at which something is to be done for this wait
//   fall_asleep()                     under the mutex, before the first sleep; before_sleep() is called after it, without
//   before_sleep(), after_sleep()     without the mutex; the latter once for the former
//   interrupted(asleep)               without the mutex: whether to give up; undoes before_sleep() meanwhile, for good if so
//   silent()                          under the mutex: a whole sleep has passed in which nothing came
template <typename System, typename Sources>
class WaitKernel {
 public:
  using Lock = typename System::Lock;
  using Mutex = typename System::Mutex;
  using TimePoint = typename System::TimePoint;
  using Deadline = std::optional<TimePoint>;
  using Plan = BackupPlan<TimePoint>;

  static constexpr std::chrono::microseconds kSpin{20};
  static constexpr std::chrono::milliseconds kAskInterrupt{
      25};  // a waiting main thread asks within twice that whether to give up
  static constexpr std::chrono::milliseconds kLongestSleep{1000};
  static constexpr std::chrono::milliseconds kTick{1};

  WaitKernel(Mutex& mutex, Sources& sources) : mutex_(mutex), sources_(sources) {}

  // Until `condition` holds, which is asked under the mutex, more than once: it must only look.
  template <typename Waiter>
  WaitResult wait(FunctionRef<bool()> condition, Deadline deadline, Waiter& waiter) {
    Lock lock(mutex_);
    if (condition()) return WaitResult::kDone;
    sources_.flush();
    waiter.begin();
    Turn<Waiter> turn{condition, deadline, waiter};
    turn.ask = System::now() + kAskInterrupt;
    std::optional<WaitResult> result;
    while (!(result = outcome(turn))) {
      result = reader_busy_ ? follow(turn, lock) : lead(turn);
      if (result) break;
    }
    waiter.end();
    changed();
    lock.unlock();
    if (turn.asleep) waiter.after_sleep();
    return *result;
  }

  // ---- What has happened ----
  // A frame was read: the backup thread keeps ticking.
  void note_progress() FRAY_REQUIRES(client_mutex) { ++progress_; }
  // Something came to be that somebody may wait for.
  void note_news() FRAY_REQUIRES(client_mutex) { ++news_; }
  std::uint64_t news() const FRAY_REQUIRES(client_mutex) { return news_; }
  std::uint64_t progress() const FRAY_REQUIRES(client_mutex) { return progress_; }

  // Called by a thread that has changed something and does not read: it may have made something ready, sent the first
  // call to an idle actor, whose socket nobody watches, or left a lease behind that is to be given back.
  void changed() FRAY_REQUIRES(client_mutex) {
    if (news_ != told_ && !FRAY_MUTANT(40)) tell();
    wake_stale();
  }
  // Whoever sleeps looks again at everything.
  void wake_all() FRAY_REQUIRES(client_mutex) {
    tell();
    backup_bell_.ring();
  }
  // The duty has something to watch that it had not before. Without the mutex, after the duty has noted it.
  void wake_backup() {
    if (backup_asleep_) backup_bell_.ring();
  }

  // ---- The backup thread ----
  void run_backup() {
    Backup backup;
    while (!stopping_) {
      Lock lock(mutex_);
      if (!reader_busy_) {
        sources_.read_all();
        told_ = news_;  // nobody follows while nobody leads
      }
      sources_.serve(System::now());
      backup.idle_ticks = progress_ == backup.seen ? backup.idle_ticks + 1 : 0;
      backup.seen = progress_;
      backup.set.clear();
      if (!reader_busy_) sources_.watch_node(backup.set);
      const bool busy = sources_.tick_duty();
      if (stopping_) return;
      if (busy || backup.idle_ticks < System::ticks_before_sleep()) {
        lock.unlock();
        System::nap(backup.set, kTick);  // leases and lost workers are not kept waiting for the next tick
        continue;
      }
      const int timeout = prepare_backup_sleep(backup);
      lock.unlock();
      sleep_as_backup(backup, timeout);
    }
  }
  // run_backup() returns soon. False: it was told before.
  bool stop() {
    if (stopping_.exchange(true)) return false;
    backup_bell_.ring();
    return true;
  }
  // In a child of fork(), where there is no such thread and the bells are the parent's.
  void abandon() { stopping_ = true; }

  // Whether somebody follows though nobody leads, or is about to.
  bool is_leaderless() const FRAY_REQUIRES(client_mutex) { return followers_ > 0 && !reader_busy_; }

 private:
  template <typename Waiter>
  struct Turn {
    FunctionRef<bool()> condition;
    Deadline deadline;
    Waiter& waiter;
    typename System::Watched set{};
    TimePoint ask{};  // when the main thread asks next, while answers stream in
    bool asleep = false;
    bool spun = false;

    int longest_sleep() const {
      return static_cast<int>((waiter.is_main_thread() ? kAskInterrupt : kLongestSleep).count());
    }
  };
  struct Backup {
    typename System::Watched set;
    std::uint64_t seen = 0;
    int idle_ticks = 0;
  };

  static int milliseconds_until(TimePoint when) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - System::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }

  // ---- A thread that waits ----

  // Nothing: it goes on.
  template <typename Waiter>
  std::optional<WaitResult> outcome(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    if (turn.condition()) return WaitResult::kDone;
    if (!sources_.is_open()) return WaitResult::kClosed;
    if (turn.waiter.is_refused()) return WaitResult::kDeadlock;
    if (turn.waiter.due() != TimePoint::max() && System::now() >= turn.waiter.due()) turn.waiter.fell_due();
    if (turn.deadline && System::now() >= *turn.deadline) return WaitResult::kTimedOut;
    return std::nullopt;
  }

  template <typename Waiter>
  bool is_over(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    return turn.condition() || !sources_.is_open() || turn.waiter.is_refused();
  }

  template <typename Waiter>
  void fall_asleep(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    if (turn.asleep) return;
    turn.waiter.fall_asleep();
    mutex_.unlock();
    turn.waiter.before_sleep();
    mutex_.lock();
    turn.asleep = true;
  }

  template <typename Waiter>
  bool interrupted(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    mutex_.unlock();
    const bool give_up = turn.waiter.interrupted(turn.asleep);
    mutex_.lock();
    if (give_up) turn.asleep = false;
    return give_up;
  }

  template <typename Waiter>
  std::optional<WaitResult> follow(Turn<Waiter>& turn, Lock& lock) FRAY_REQUIRES(client_mutex) {
    fall_asleep(turn);
    // The mutex was let go of: who led may have left, and told nobody that we wait.
    if (!reader_busy_ || (is_over(turn) && !FRAY_MUTANT(41))) return std::nullopt;
    TimePoint until = System::now() + std::chrono::milliseconds(turn.longest_sleep());
    if (turn.deadline && *turn.deadline < until && !FRAY_MUTANT(42)) until = *turn.deadline;
    until = std::min(until, turn.waiter.due());
    ++followers_;
    readers_changed_.wait_until(lock, until);
    --followers_;
    if (System::now() >= until) turn.waiter.silent();
    if (turn.waiter.is_main_thread() && interrupted(turn)) return WaitResult::kInterrupted;
    return std::nullopt;
  }

  template <typename Waiter>
  std::optional<WaitResult> lead(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    reader_busy_ = true;
    if (!std::exchange(turn.spun, true) && spin(turn)) return WaitResult::kDone;
    step_down();
    fall_asleep(turn);
    if (reader_busy_ || (is_over(turn) && !FRAY_MUTANT(55))) return std::nullopt;  // meanwhile
    reader_busy_ = true;
    sources_.flush();
    const Woke woke = sleep_as_leader(turn);
    step_down();
    sources_.deliver();
    if (!FRAY_MUTANT(43)) wake_stale();
    if (woke == Woke::kTime) turn.waiter.silent();
    // A signal that lands outside of the poll interrupts nothing, and while answers stream in it always finds some.
    const bool is_time_to_ask = turn.waiter.is_main_thread() && System::now() >= turn.ask && !FRAY_MUTANT(44);
    if (woke == Woke::kEvent && !is_time_to_ask) return std::nullopt;
    if (interrupted(turn)) return WaitResult::kInterrupted;
    turn.ask = System::now() + kAskInterrupt;
    return std::nullopt;
  }

  // Short tasks answer sooner than a thread falls asleep and wakes up. True: what it waits for came.
  template <typename Waiter>
  bool spin(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    const TimePoint end = System::now() + kSpin;
    do {
      sources_.read_workers();
      if (turn.condition()) {
        step_down();
        return true;
      }
      mutex_.unlock();
      System::yield();
      mutex_.lock();
    } while (System::now() < end);
    return false;
  }

  template <typename Waiter>
  Woke sleep_as_leader(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    turn.set.clear();
    sources_.watch(turn.set);
    leader_version_ = sources_.watch_version();
    if (!FRAY_MUTANT(45)) leader_asleep_ = true;
    int timeout = turn.longest_sleep();
    if (turn.deadline) timeout = std::min(timeout, milliseconds_until(*turn.deadline));
    if (turn.waiter.due() != TimePoint::max()) timeout = std::min(timeout, milliseconds_until(turn.waiter.due()));
    mutex_.unlock();
    const Woke woke = System::sleep(turn.set, leader_bell(), timeout);
    mutex_.lock();
    leader_asleep_ = false;
    sources_.read_all();
    return woke;
  }

  // Nobody reads now. One of the followers leads next; the others look at what has been read.
  void step_down() FRAY_REQUIRES(client_mutex) {
    reader_busy_ = false;
    told_ = news_;
    if (followers_ > 0 && !FRAY_MUTANT(47)) readers_changed_.notify_all();
  }

  // ---- The backup thread ----

  // How long it may sleep.
  int prepare_backup_sleep(Backup& backup) FRAY_REQUIRES(client_mutex) {
    backup.set.clear();
    if (!reader_busy_ || !FRAY_MUTANT(48)) sources_.watch(backup.set);  // whoever leads may leave meanwhile
    asleep_version_ = sources_.watch_version();
    asleep_plan_ = sources_.plan();
    int timeout = asleep_plan_.tick;
    if (asleep_plan_.look >= 0) timeout = timeout < 0 ? asleep_plan_.look : std::min(timeout, asleep_plan_.look);
    if (asleep_plan_.due && !FRAY_MUTANT(49)) {
      timeout = std::clamp(milliseconds_until(*asleep_plan_.due), 1, timeout < 0 ? 1000 : timeout);
    }
    if (!sources_.is_open()) timeout = 1000;
    if (!FRAY_MUTANT(50)) backup_asleep_ = true;  // before the duty is asked: a task that begins meanwhile wakes us
    sources_.watch_duty(backup.set);
    return timeout;
  }

  void sleep_as_backup(Backup& backup, int timeout) {
    if (FRAY_MUTANT(50)) backup_asleep_ = true;
    if (System::sleep(backup.set, backup_bell_, timeout) == Woke::kEvent) backup.idle_ticks = 0;
    backup_asleep_ = false;
  }

  // ---- Waking ----

  typename System::Bell& leader_bell() { return FRAY_MUTANT(46) ? backup_bell_ : leader_bell_; }

  void tell() FRAY_REQUIRES(client_mutex) {
    told_ = news_;
    if (leader_asleep_ && !FRAY_MUTANT(51)) leader_bell().ring();
    if (followers_ > 0) readers_changed_.notify_all();
  }

  void wake_stale() FRAY_REQUIRES(client_mutex) {
    const std::uint64_t version = sources_.watch_version();
    if (leader_asleep_ && leader_version_ != version && !FRAY_MUTANT(52)) leader_bell().ring();
    if (!backup_asleep_) return;  // it looks at everything before it sleeps
    // A leader watches the sockets in its place, but not the time.
    const bool unwatched = !reader_busy_ && asleep_version_ != version && !FRAY_MUTANT(53);
    if (unwatched || sources_.plan().is_before(asleep_plan_)) backup_bell_.ring();
  }

  Mutex& mutex_;
  Sources& sources_;
  typename System::Condition readers_changed_;
  bool reader_busy_ FRAY_GUARDED_BY(client_mutex) = false;
  int followers_ FRAY_GUARDED_BY(client_mutex) = 0;
  std::uint64_t progress_ FRAY_GUARDED_BY(client_mutex) = 0;  // frames handled
  std::uint64_t news_ FRAY_GUARDED_BY(client_mutex) = 0;
  std::uint64_t told_ FRAY_GUARDED_BY(client_mutex) = 0;  // of the news: what sleepers have been told

  typename System::Bell leader_bell_;
  bool leader_asleep_ FRAY_GUARDED_BY(client_mutex) = false;
  std::uint64_t leader_version_ FRAY_GUARDED_BY(client_mutex) = 0;  // of the sockets that it watches in its sleep

  typename System::Bell backup_bell_;
  typename System::Flag backup_asleep_{false};
  std::uint64_t asleep_version_ FRAY_GUARDED_BY(client_mutex) = 0;  // what it fell asleep with
  Plan asleep_plan_ FRAY_GUARDED_BY(client_mutex);
  typename System::Flag stopping_{false};
};

}  // namespace fray::client
