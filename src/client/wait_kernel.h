// WaitKernel: which of a client's threads reads its sockets, which sleep until they are told, and when the backup thread
// takes over. It knows no socket, no table and no clock: `System` gives it locks, bells, sleep and time, and `Sources` is
// what it reads. Both are types, so that a call costs nothing; the simulator (client/sim/wait_world.h) puts its own in place.
//
//   WaitKernel<WaitSystem, Reading> kernel(mutex, reading);
//   std::thread backup([&] { kernel.run_backup(); });
//   kernel.wait([&] { return object->is_ready(); }, deadline, waiter);
//
// A thread that waits *leads* when no other thread does: it sleeps in a poll of all sockets, reads the frames of
// everybody, and checks whether its own condition holds. The other threads *follow*: they sleep on a condition variable
// until the leader, or the backup thread, has read something that somebody may wait for, or until nobody leads any
// more. One reader at a time is enough, and it spares the usual case, one thread that waits for one result, a second
// thread and a wake-up.
//
//            nobody reads                        its condition holds, deadline, interrupt, closed
//   wait() ────────────────▶ spin ─▶ lead ─────────────────────────────────────────────────────▶ returns
//     │                        ▲      │ ▲                                                            ▲
//     │ somebody reads         │      ▼ │ read                                                       │
//     └────────────────▶ follow┘    asleep in poll                     its condition holds, deadline ─┘
//
// The backup thread serves the sockets while no thread waits. It ticks each millisecond as long as frames were read or
// the worker's duty has something to do; after System::ticks_before_sleep() ticks without either it sleeps in a poll as
// well.
//
// What a sleeping thread watches, and for how long, is fixed when it falls asleep. So a thread that changes something
// under the mutex calls changed() before it releases the mutex, which wakes the sleepers that would miss the change.
// The leader and the backup thread have a bell each: if both slept on one bell, the first to take a ring would leave
// the other asleep.
//
// Threading:  any thread, under the client's mutex where it says so. The mutex is released during every sleep.
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

// When the backup thread has to look by itself, without being woken.
template <typename TimePoint>
struct BackupPlan {
  int tick = -1;                 // milliseconds between looks; -1: none is needed
  int look = -1;                 // the same, for looks that nobody wakes the thread for when they become necessary
  std::optional<TimePoint> due;  // the moment of a single look

  bool is_before(const BackupPlan& other) const {
    return (tick >= 0 && (other.tick < 0 || tick < other.tick)) || (due && (!other.due || *due < *other.due));
  }
};

// `Sources`, all under the mutex:
//   is_open()                         false: every wait ends
//   flush()                           sends what is buffered: a thread is about to wait for its answers
//   read_all(), read_workers()        reads what has arrived, on all sockets or on those of workers, and acts on it
//   watch(set), watch_version()       the sockets to sleep on, and a number that grows when one joins them
//   watch_node(set)                   the node's socket alone
//   watch_duty(set)                   what the worker's duty wants watched while the backup thread sleeps
//   deliver()                         hands on what was read for nobody who waits, such as the output of workers
//   serve(now)                        work of the backup thread that is due from time to time
//   plan()                            a BackupPlan
//   tick_duty()                       lets the duty work, without the mutex; true: keep ticking
//
// `Waiter`, for one wait:
//   is_main_thread()                  signals land on this thread: it is asked whether to give up every 25 to 50 ms
//   begin(), end()                    under the mutex: around a wait that does not end at once
//   is_refused()                      under the mutex: whether the node has said that the wait can never end
//   due(), fell_due()                 under the mutex: a moment at which something is to be done for this wait
//   fall_asleep()                     under the mutex, before the first sleep; then before_sleep() is called without it
//   before_sleep(), after_sleep()     without the mutex, in pairs
//   interrupted(asleep)               without the mutex: whether to give up. It undoes before_sleep() for the question, and
//                                     for good when the answer is yes
//   silent()                          under the mutex: a whole sleep has passed in which nothing arrived
template <typename System, typename Sources>
class WaitKernel {
 public:
  using Lock = typename System::Lock;
  using Mutex = typename System::Mutex;
  using TimePoint = typename System::TimePoint;
  using Deadline = std::optional<TimePoint>;
  using Plan = BackupPlan<TimePoint>;

  // About as long as falling asleep and being woken take together: a task that answers within it costs no switch of
  // threads.
  static constexpr std::chrono::microseconds kSpin{20};
  // A waiting main thread asks within twice this time whether it is to give up.
  static constexpr std::chrono::milliseconds kAskInterrupt{25};
  // Bounds what a lost wake-up could cost. After one such sleep without news a wait counts as silent.
  static constexpr std::chrono::milliseconds kLongestSleep{1000};
  static constexpr std::chrono::milliseconds kTick{1};

  WaitKernel(Mutex& mutex, Sources& sources) : mutex_(mutex), sources_(sources) {}

  // Returns when `condition` holds. It is called under the mutex, more than once, and must change nothing.
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
  // All sleeping threads wake up and check everything again.
  void wake_all() FRAY_REQUIRES(client_mutex) {
    tell();
    backup_bell_.ring();
  }
  // The worker's duty has a socket to watch that it had not before. Called without the mutex, after the duty has noted
  // it.
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
        // The nap ends early for frames of the node: leases and lost workers do not wait for the next tick.
        System::nap(backup.set, kTick);
        continue;
      }
      const int timeout = prepare_backup_sleep(backup);
      lock.unlock();
      sleep_as_backup(backup, timeout);
    }
  }
  // Makes run_backup() return soon. False: it had been told so before.
  bool stop() {
    if (stopping_.exchange(true)) return false;
    backup_bell_.ring();
    return true;
  }
  // In a child of fork(), where there is no such thread and the bells are the parent's.
  void abandon() { stopping_ = true; }

  // Whether a thread follows while none leads. The simulator asks: it must be false whenever all threads sleep.
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

  // Why the wait ends; nothing while it goes on.
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

  // Prepares the first sleep of a wait. before_sleep() runs without the mutex because it may take other locks, such as
  // Python's when it releases the GIL; so the caller has to check its condition again afterwards.
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
    // The mutex was released for a moment. The leader may have stepped down in it, when this thread was not yet among
    // the followers that it tells; and what this thread waits for may have arrived.
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
    // fall_asleep() releases the mutex, so another thread may lead from then on, or the condition may hold.
    step_down();
    fall_asleep(turn);
    if (reader_busy_ || (is_over(turn) && !FRAY_MUTANT(55))) return std::nullopt;
    reader_busy_ = true;
    sources_.flush();
    const Woke woke = sleep_as_leader(turn);
    step_down();
    sources_.deliver();
    if (!FRAY_MUTANT(43)) wake_stale();
    if (woke == Woke::kTime) turn.waiter.silent();
    // A signal that arrives outside of the poll interrupts no sleep, and while answers stream in the poll never ends by
    // time. So the main thread also asks by the clock.
    const bool is_time_to_ask = turn.waiter.is_main_thread() && System::now() >= turn.ask && !FRAY_MUTANT(44);
    if (woke == Woke::kEvent && !is_time_to_ask) return std::nullopt;
    if (interrupted(turn)) return WaitResult::kInterrupted;
    turn.ask = System::now() + kAskInterrupt;
    return std::nullopt;
  }

  // Reads without sleeping for kSpin: short tasks answer sooner than a thread falls asleep and is woken. True: the
  // condition holds.
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

  // No thread reads from now on. All followers are woken: the first one leads next, the others check what has been
  // read.
  void step_down() FRAY_REQUIRES(client_mutex) {
    reader_busy_ = false;
    told_ = news_;
    if (followers_ > 0 && !FRAY_MUTANT(47)) readers_changed_.notify_all();
  }

  // ---- The backup thread ----

  // What the backup thread watches in its sleep, and how long the sleep may be, in milliseconds; -1: for ever.
  int prepare_backup_sleep(Backup& backup) FRAY_REQUIRES(client_mutex) {
    backup.set.clear();
    // It watches all sockets even while a thread leads: the leader may stop waiting during this sleep, and nobody would
    // read.
    if (!reader_busy_ || !FRAY_MUTANT(48)) sources_.watch(backup.set);
    asleep_version_ = sources_.watch_version();
    asleep_plan_ = sources_.plan();
    int timeout = asleep_plan_.tick;
    if (asleep_plan_.look >= 0) timeout = timeout < 0 ? asleep_plan_.look : std::min(timeout, asleep_plan_.look);
    if (asleep_plan_.due && !FRAY_MUTANT(49)) {
      timeout = std::clamp(milliseconds_until(*asleep_plan_.due), 1, timeout < 0 ? 1000 : timeout);
    }
    if (!sources_.is_open()) timeout = 1000;
    // Noted before the duty is asked what it watches: a task that begins after the question rings the bell.
    if (!FRAY_MUTANT(50)) backup_asleep_ = true;
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
    if (!backup_asleep_) return;  // it checks everything before it falls asleep
    // A leader watches the sockets in place of the backup thread, but not the times at which that is to do something.
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
  std::uint64_t told_ FRAY_GUARDED_BY(client_mutex) = 0;  // the value of news_ when sleepers were told last

  typename System::Bell leader_bell_;
  bool leader_asleep_ FRAY_GUARDED_BY(client_mutex) = false;
  std::uint64_t leader_version_ FRAY_GUARDED_BY(client_mutex) = 0;  // of the sockets that it watches in its sleep

  typename System::Bell backup_bell_;
  typename System::Flag backup_asleep_{false};
  std::uint64_t asleep_version_ FRAY_GUARDED_BY(client_mutex) = 0;  // of the sockets that the backup thread watches
  Plan asleep_plan_ FRAY_GUARDED_BY(client_mutex);
  typename System::Flag stopping_{false};
};

}  // namespace fray::client
