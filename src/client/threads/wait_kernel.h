// WaitKernel: which of a client's threads reads its sockets, which sleep until they are told, and when the backup
// thread takes over. It knows no socket, no table and no clock: `System` gives it locks, bells, sleep and time, and
// `Sources` is what it reads. Both are types, so that a call costs nothing; the simulator (client/sim/wait_world.h)
// puts its own in place.
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
// The backup thread serves the sockets while no thread waits. It is silent: it sleeps until something happens or a
// moment has come that it knows. What it watches, and until when, is fixed when it falls asleep:
//
//   watching   nobody leads: the node's socket, and those on which answers are due
//   led        somebody leads: no socket, but those that have not taken all frames; who stops leading guards
//              (a leader that still spins reads workers alone, so a look in that moment reads all sockets)
//   napping    frames or tasks come one after the other: the node's socket alone, for one kTick, so that they are
//              served together and not one by one
//
// A thread that leaves something behind in which the backup thread may have to join in calls guard(): sockets that
// nobody reads, frames that nobody has sent, a task that may turn out to be slow. That sets an alarm, unless it is set
// already: the backup thread *looks* within kTick. A leader that falls asleep takes back an alarm that it makes
// needless. So a thousand calls in a millisecond cost one look, a call that is waited for costs none, and nobody is
// woken for each call. Who has sent all and leaves answers alone calls guard_answers(), whose alarm is a late one in a
// program that waits for its calls: to set a late one costs next to nothing (os/alarm.h).
//
// Event loops wait without a thread that reads. Where what they wait for is to be read at once (loop_reading.h), the backup
// thread takes no nap, and is rung, once, if it sleeps on less than all sockets on which answers are due.
//
// A thread that changes something under the mutex calls changed() before it releases the mutex, which wakes the
// sleepers that would miss the change. The leader and the backup thread have a bell each: if both slept on one bell,
// the first to take a ring would leave the other asleep.
//
// guard() takes no lock: it is called after what it is about was noted under some mutex. The backup thread clears the
// mark `guarded_` before it looks, under that mutex; so it sees what was noted, or the mark is found cleared. A leader
// that reads does the same: it sets the mark, so that no alarm is set for what it sends itself right after.
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
#include "client/threads/client_mutex.h"
#include "client/threads/duty_plan.h"
#include "client/threads/loop_reading.h"
#include "os/process/crowded_cpu.h"

namespace fray::client {

enum class WaitResult { kDone, kTimedOut, kInterrupted, kClosed, kDeadlock };

// What the backup thread was woken by, among other things.
struct BackupWoken {
  bool alarmed = false;
  bool signalled = false;
};

// `Sources`, all under the mutex:
//   is_open()                         false: every wait ends
//   is_quiet()                        whether all is sent, and no answer is due but from the node
//   has_unsent()                      whether flush() would have something to send
//   flush(), flush_some()             sends all that is buffered; all but what next_due() has a moment for
//   read_all(), read_workers()        reads what has arrived, on all sockets or on those of workers, and acts on it
//   watch(set), watch_version()       the sockets to sleep on, each of which read_all() reads (one that is not read would
//                                     end every sleep), and a number that grows when one joins them
//   watch_busy(set)                   the same without those on which nothing is due
//   watch_node(set)                   the node's socket alone
//   watch_unsent(set)                 the sockets that have not taken all that was to be sent, for that alone
//   watch_duty(set)                   what the worker's duty wants watched while the backup thread sleeps
//   has_duty()                        whether there is a worker's duty
//   deliver()                         hands on what was read for nobody who waits, such as the output of workers
//   serve(now)                        work of the backup thread that is due from time to time
//   next_due()                        when serve() is to be called next, if nothing happens before
//   awaited_by_loops()                how many objects event loops wait for, for which no thread calls wait()
//   look_at_duty()                    lets the duty work, without the mutex; returns a DutyPlan
//
// `Waiter`, for one wait:
//   is_main_thread()                  it is asked whether to give up when it falls asleep, and after ask_waiters()
//   begin(), end()                    under the mutex: around a wait that does not end at once
//   is_refused()                      under the mutex: whether the node has said that the wait can never end
//   due(), fell_due()                 under the mutex: a moment at which something is to be done for this wait
//   fall_asleep()                     under the mutex, before the first sleep; then before_sleep() is called without it
//   before_sleep(), after_sleep()     without the mutex, in pairs
//   interrupted(asleep)               without the mutex: whether to give up. It undoes before_sleep() for the question,
//                                     and for good when the answer is yes
template <typename System, typename Sources>
class WaitKernel {
 public:
  using Lock = typename System::Lock;
  using Mutex = typename System::Mutex;
  using TimePoint = typename System::TimePoint;
  using Deadline = std::optional<TimePoint>;

  // About as long as falling asleep and being woken take together: a task that answers within it costs no switch of
  // threads.
  static constexpr std::chrono::microseconds kSpin{20};
  // Within so long the backup thread looks at what was left to it.
  static constexpr std::chrono::milliseconds kTick{1};
  // The same where nothing but answers is left, and there was nothing to do when it looked last.
  static constexpr std::chrono::milliseconds kLate{5};
  // Of a thread that follows: with an end, lest it looks as if only this process could wake it
  // (os/process/thread_rest.h).
  static constexpr std::chrono::hours kLongSleep{1};

  WaitKernel(Mutex& mutex, Sources& sources) : mutex_(mutex), sources_(sources) {}

  // Returns when `condition` holds. It is called under the mutex, more than once, and must change nothing.
  template <typename Waiter>
  WaitResult wait(FunctionRef<bool()> condition, Deadline deadline, Waiter& waiter) {
    Lock lock(mutex_);
    if (condition()) return WaitResult::kDone;
    sources_.flush();
    waiter.begin();
    Turn<Waiter> turn{condition, deadline, waiter};
    turn.asks = asks_;
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
  // Frames were read.
  void note_progress() FRAY_REQUIRES(client_mutex) { ++progress_; }
  // Something came to be that somebody may wait for.
  void note_news() FRAY_REQUIRES(client_mutex) { ++news_; }
  // An event loop was told of an object that it waits for.
  void note_loop_told() FRAY_REQUIRES(client_mutex) { loops_.note_told(); }
  std::uint64_t news() const FRAY_REQUIRES(client_mutex) { return news_; }

  // Called by a thread that has changed something and does not read: it may have made something ready, sent the first
  // call to an idle actor, whose socket nobody watches, left a lease behind that is to be given back, or stopped
  // reading.
  void changed() FRAY_REQUIRES(client_mutex) {
    if (news_ != told_) tell();
    wake_stale();
    guard_sockets();
  }
  // All that wait wake up and check everything again.
  void wake_waiting() FRAY_REQUIRES(client_mutex) { tell(); }
  // The same, and the backup thread as well.
  void wake_all() FRAY_REQUIRES(client_mutex) {
    tell();
    backup_bell_.ring();
  }
  // The backup thread looks within kTick. For any thread, with or without the mutex, after what is to be looked at was
  // noted.
  void guard() {
    if (guarded_ || guarded_.exchange(true)) return;
    alarm_.set(kTick);
  }
  // The same for a thread that has sent all, and leaves nothing but answers that nobody may read: within kLate, if there was
  // nothing to do when the alarm rang last. So a program that waits for its calls learns to set an alarm that costs little
  // (os/alarm.h), and one that does not wait, or makes many calls before it does, has its answers read within kTick.
  void guard_answers() FRAY_REQUIRES(client_mutex) {
    constexpr int kManyCalls = 64;
    if (leader_marked_) answers_left_ = true;
    if (!rang_in_vain_) return guard();
    if (late_ && ++late_calls_ == kManyCalls) return guard();
    if (late_ || guarded_) return;
    late_ = true;
    late_calls_ = 0;
    alarm_.set(kLate);
    if (guarded_) alarm_.set(kTick);  // another thread has called guard() meanwhile, and set it before
  }
  // Main threads that wait are asked whether to give up. For any thread, with or without the mutex.
  void ask_waiters() {
    ask_wanted_ = true;
    backup_bell_.ring();
  }
  // Does the same when a byte is written to it; for handlers of signals.
  typename System::Signals& signals() { return signals_; }

  // ---- The backup thread ----
  void run_backup() {
    Backup backup;
    while (!stopping_) {
      look(backup);
      if (stopping_) return;
      backup.woken = System::sleep_as_backup(backup.set, backup_bell_, alarm_, signals_, backup.until);
      backup_asleep_ = false;
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
  // Whether an event loop may learn of its answers a tick late. The simulator asks.
  bool reads_in_groups() const FRAY_REQUIRES(client_mutex) { return loops_.in_groups(sources_.awaited_by_loops()); }

 private:
  template <typename Waiter>
  struct Turn {
    FunctionRef<bool()> condition;
    Deadline deadline;
    Waiter& waiter;
    typename System::Watched set{};
    std::uint64_t asks = 0;  // the value of asks_ when this thread last asked whether to give up
    bool asleep = false;
    bool spun = false;
  };
  struct Backup {
    typename System::Watched set;
    TimePoint until{};
    BackupWoken woken;
    bool marked = false;  // it has set the mark `guarded_` itself, so no alarm belongs to it
    int quick_looks = 0;  // in a row, each within kTick of the one before
    bool naps = false;    // frames stream in: the sockets are not watched, and it looks each kTick
  };

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
  // Python's when it releases the GIL; so the caller has to check its condition again afterwards. Signals
  // are noticed from before_sleep() on. For one that came earlier `asks` is lowered, so that interrupted() asks once.
  template <typename Waiter>
  void fall_asleep(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    if (turn.asleep) return;
    turn.waiter.fall_asleep();
    mutex_.unlock();
    turn.waiter.before_sleep();
    mutex_.lock();
    turn.asleep = true;
    --turn.asks;
  }

  // Whether the thread is to give up, which is asked only after ask_waiters() or a signal. The question runs Python's
  // handlers of signals, which may take any time; meanwhile no thread leads, and a further signal may come that the
  // question has not seen.
  template <typename Waiter>
  bool interrupted(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    if (!turn.waiter.is_main_thread()) return false;
    while (turn.asks != asks_) {
      turn.asks = asks_;
      guard_sockets();
      mutex_.unlock();
      const bool give_up = turn.waiter.interrupted(turn.asleep);
      mutex_.lock();
      if (give_up) turn.asleep = false;
      if (give_up) return true;
    }
    return false;
  }

  template <typename Waiter>
  std::optional<WaitResult> follow(Turn<Waiter>& turn, Lock& lock) FRAY_REQUIRES(client_mutex) {
    fall_asleep(turn);
    if (interrupted(turn)) return WaitResult::kInterrupted;
    // The mutex was released for a moment, in which the leader may have stepped down without waking this thread, which
    // was not yet among the followers; and the objects that this thread waits for may have arrived.
    if (!reader_busy_ || is_over(turn)) return std::nullopt;
    wake_stale();
    TimePoint until = System::now() + kLongSleep;
    if (turn.deadline && *turn.deadline < until) until = *turn.deadline;
    until = std::min(until, turn.waiter.due());
    ++followers_;
    readers_changed_.wait_until(lock, until);
    --followers_;
    return std::nullopt;
  }

  template <typename Waiter>
  std::optional<WaitResult> lead(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    reader_busy_ = true;
    loops_.note_leader();
    if (!std::exchange(turn.spun, true) && spin(turn)) return WaitResult::kDone;
    // fall_asleep() releases the mutex, so another thread may lead from then on, or the condition may hold.
    step_down();
    fall_asleep(turn);
    if (interrupted(turn)) return WaitResult::kInterrupted;
    if (reader_busy_ || is_over(turn)) return std::nullopt;
    reader_busy_ = true;
    take_over();
    sleep_as_leader(turn);
    step_down();
    sources_.deliver();
    return std::nullopt;
  }

  // Reads without sleeping for kSpin, unless others want the CPU: short tasks answer sooner than a thread falls asleep
  // and is woken. True: the condition holds.
  template <typename Waiter>
  bool spin(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    TimePoint now = System::now();
    const TimePoint end = now + kSpin;
    while (true) {
      sources_.read_workers();
      if (turn.condition()) {
        step_down();
        return true;
      }
      if (now >= end || crowd_.wants_cpu(ns_of(now))) return false;
      mutex_.unlock();
      const TimePoint before = System::now();
      System::yield();
      now = System::now();
      mutex_.lock();
      crowd_.note_yield(ns_of(before), ns_of(now));
    }
  }

  static std::uint64_t ns_of(TimePoint moment) {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(moment.time_since_epoch()).count());
  }

  // This thread now does what the backup thread would do: it sends everything, and it reads. So the alarm is cancelled,
  // unless the worker's duty has set it, or a look of the backup thread is due anyway, such as during a stream of
  // frames.
  void take_over() FRAY_REQUIRES(client_mutex) {
    if (backup_asleep_ && (late_ || guarded_) && !sources_.has_duty() && !is_look_due()) {
      alarm_.cancel();
      guarded_ = late_ = false;
      watching_ = false;          // not what has been sent since it fell asleep
      asleep_due_ = polled_due_;  // an earlier one was left to the alarm
    }
    sources_.flush();
    wake_stale();
  }

  bool is_look_due() FRAY_REQUIRES(client_mutex) {
    const std::optional<TimePoint> due = sources_.next_due();
    return (due && *due <= System::now() + kTick) || is_stream(looked_at_, seen_);
  }

  template <typename Waiter>
  void sleep_as_leader(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    turn.set.clear();
    sources_.watch(turn.set);
    leader_version_ = sources_.watch_version();
    leader_asleep_ = true;
    TimePoint until = turn.waiter.due();
    if (turn.deadline) until = std::min(until, *turn.deadline);
    mutex_.unlock();
    System::sleep(turn.set, leader_bell_, until);
    mutex_.lock();
    leader_asleep_ = false;
    read_as_leader(turn);
  }

  // What this thread reads may give it something to send, such as the next task for a worker that has answered. It sends that
  // itself, so nobody needs an alarm: it sets the mark for as long, unless others have, or the worker's duty may need the
  // alarm. As the backup thread does, it clears the mark first and looks then at what was noted. It holds the mutex while it
  // reads, so nothing else than memory that goes back to the node can be noted by other threads meanwhile.
  template <typename Waiter>
  void read_as_leader(Turn<Waiter>& turn) FRAY_REQUIRES(client_mutex) {
    leader_marked_ = !sources_.has_duty() && !guarded_.exchange(true);
    sources_.read_all();
    if (!std::exchange(leader_marked_, false)) return;
    guarded_ = false;
    if (std::exchange(answers_left_, false)) guard_answers();
    if (!sources_.has_unsent()) return;
    if (is_over(turn)) return guard();  // the caller may have more to send right after
    sources_.flush();
    watching_ = false;  // not what has been sent since the backup thread fell asleep
  }

  // No thread reads from now on. All followers are woken: the first one leads next, the others check whether the frames
  // that were read end their waits.
  void step_down() FRAY_REQUIRES(client_mutex) {
    reader_busy_ = false;
    told_ = news_;
    if (followers_ > 0) readers_changed_.notify_all();
  }

  // ---- The backup thread ----

  // While it looks nobody needs an alarm, so it sets the mark itself if nobody else has.
  void begin_guard(Backup& backup) { backup.marked = !guarded_.exchange(true) || backup.marked; }
  // First the alarm, then the mark: an alarm that is set in between rings for nothing, and is none to rely on. An alarm
  // that has rung goes on until it is cancelled.
  void clear_guard(Backup& backup) FRAY_REQUIRES(client_mutex) {
    if (backup.woken.alarmed || late_ || !backup.marked) {
      alarm_.cancel();
      late_ = false;
    }
    backup.marked = false;
    guarded_ = false;
  }

  void look(Backup& backup) {
    begin_guard(backup);
    const bool signalled = backup.woken.signalled && signals_.take();
    const bool asked = ask_wanted_.exchange(false) || signalled;
    Lock lock(mutex_);
    if (asked) {
      ++asks_;
      tell();
    }
    const std::uint64_t seen = progress_;
    loops_.begin_look();
    if (!leader_asleep_) sources_.read_all();  // a leader that spins reads the sockets of workers alone
    if (!reader_busy_) told_ = news_;          // without a leader there are no followers to wake
    sources_.serve(System::now());
    if (backup.woken.alarmed) rang_in_vain_ = progress_ == seen && sources_.is_quiet();
    if (loops_.end_look(progress_ != seen, System::now() - looked_at_ < kTick)) rang_in_vain_ = true;
    // All work under the mutex is done, and some of it may have set the alarm. The rest is checked below, so it is not
    // needed.
    clear_guard(backup);
    sources_.flush_some();
    const DutyPlan duty = sources_.look_at_duty();
    if (news_ != told_) tell();
    if (!stopping_) prepare_sleep(backup, duty);
  }

  // Whether more than one frame each kTick was read since then.
  bool is_stream(TimePoint since, std::uint64_t seen) const FRAY_REQUIRES(client_mutex) {
    constexpr std::uint64_t kFew = 4;
    const std::uint64_t frames = progress_ - seen;
    return frames >= kFew && frames * kTick > System::now() - since;
  }

  void prepare_sleep(Backup& backup, const DutyPlan& duty) FRAY_REQUIRES(client_mutex) {
    const TimePoint now = System::now();
    const bool for_loops = loops_.at_once(sources_.awaited_by_loops());
    const bool frames = frames_stream(backup, now) && !for_loops && !leader_asleep_;
    backup.naps = duty.streams || frames;
    looked_at_ = now;
    seen_ = progress_;
    plan_due(now);
    choose_sockets(backup, for_loops);
    choose_end(backup, duty, now);
    if (backup.until <= now + kTick) {
      backup.marked = !guarded_.exchange(true);  // the next look is so soon that no alarm is needed
    } else {
      backup_asleep_ = true;
    }
  }

  bool frames_stream(Backup& backup, TimePoint now) FRAY_REQUIRES(client_mutex) {
    constexpr int kMostQuickLooks = 3;
    backup.quick_looks = now - looked_at_ < kTick ? backup.quick_looks + 1 : 0;
    const bool goes_on =
        backup.naps && progress_ > seen_ + 1;  // a nap for one frame costs as much as to be woken by it
    return goes_on || is_stream(looked_at_, seen_) || backup.quick_looks >= kMostQuickLooks;
  }

  void choose_sockets(Backup& backup, bool for_loops) FRAY_REQUIRES(client_mutex) {
    watching_ = watches_node_ = !reader_busy_;
    hears_all_ = watching_ && for_loops;
    heard_version_ = sources_.watch_version();
    backup.set.clear();
    if (!watching_) {
      sources_.watch_unsent(backup.set);  // the leader sleeps without watching these
    } else if (for_loops) {
      sources_.watch(backup.set);
    } else if (backup.naps) {
      sources_.watch_node(backup.set);
    } else {
      sources_.watch_busy(backup.set);
    }
    sources_.watch_duty(backup.set);
  }

  void choose_end(Backup& backup, const DutyPlan& duty, TimePoint now) FRAY_REQUIRES(client_mutex) {
    backup.until = asleep_due_.value_or(TimePoint::max());
    if (backup.until <= now)
      backup.until = now + kTick;  // it has come during this look, which may not be able to end it
    backup.until = std::min(backup.until, duty.due);
    if (backup.naps) backup.until = std::min(backup.until, now + kTick);
  }

  // A planned moment is kept even if nothing is due then any more. Otherwise work that comes and goes, such as a lease
  // that becomes idle and gets a task again, would wake this thread each time.
  void plan_due(TimePoint now) FRAY_REQUIRES(client_mutex) {
    const std::optional<TimePoint> due = sources_.next_due();
    if (!asleep_due_ || *asleep_due_ <= now || (due && *due < *asleep_due_)) asleep_due_ = due;
    polled_due_ = asleep_due_;
  }

  // ---- Waking ----

  void tell() FRAY_REQUIRES(client_mutex) {
    told_ = news_;
    if (leader_asleep_) leader_bell_.ring();
    if (followers_ > 0) readers_changed_.notify_all();
  }

  // Wakes sleepers whose information is stale: the leader if the set of sockets has changed, the backup thread if
  // something is due earlier than it knows.
  void wake_stale() FRAY_REQUIRES(client_mutex) {
    if (leader_asleep_ && leader_version_ != sources_.watch_version()) leader_bell_.ring();
    if (!backup_asleep_) return;  // it checks everything before it falls asleep
    const std::optional<TimePoint> due = sources_.next_due();
    if (!due || (asleep_due_ && *asleep_due_ <= *due)) return;
    asleep_due_ = due;
    if (*due <= System::now() + kTick) {
      guard();
    } else {
      backup_bell_.ring();
    }
  }

  // Sets the alarm when no thread reads from now on and the backup thread sleeps without watching the sockets. After a call
  // that was waited for it need not, though a leader has led meanwhile: it still sleeps on the node's socket, and nothing is
  // due on another one.
  void guard_sockets() FRAY_REQUIRES(client_mutex) {
    if (reader_busy_) return;
    if (const std::size_t awaited = sources_.awaited_by_loops(); awaited > 0) return guard_awaited(awaited);
    if (!backup_asleep_ || watching_) return;
    if (!watches_node_) return guard();
    if (!sources_.is_quiet()) guard();
  }

  // The same while event loops wait, in whose programs an alarm may be a late one.
  void guard_awaited(std::size_t awaited) FRAY_REQUIRES(client_mutex) {
    if (hears_all_ && heard_version_ == sources_.watch_version()) return;
    if (loops_.in_groups(awaited)) return guard();
    if (loops_.ask()) backup_bell_.ring();
  }

  Mutex& mutex_;
  Sources& sources_;
  typename System::Condition readers_changed_;
  bool reader_busy_ FRAY_GUARDED_BY(client_mutex) = false;
  int followers_ FRAY_GUARDED_BY(client_mutex) = 0;
  os::CrowdedCpu crowd_ FRAY_GUARDED_BY(client_mutex);        // of the threads that lead
  std::uint64_t progress_ FRAY_GUARDED_BY(client_mutex) = 0;  // how often frames were read
  std::uint64_t news_ FRAY_GUARDED_BY(client_mutex) = 0;
  std::uint64_t told_ FRAY_GUARDED_BY(client_mutex) = 0;  // the value of news_ when sleepers were last woken
  std::uint64_t asks_ FRAY_GUARDED_BY(client_mutex) = 1;  // how often main threads were to ask whether they give up

  typename System::Bell leader_bell_;
  bool leader_asleep_ FRAY_GUARDED_BY(client_mutex) = false;
  bool leader_marked_ FRAY_GUARDED_BY(client_mutex) = false;        // it reads, and has set the mark `guarded_` itself
  bool answers_left_ FRAY_GUARDED_BY(client_mutex) = false;         // meanwhile
  std::uint64_t leader_version_ FRAY_GUARDED_BY(client_mutex) = 0;  // of the sockets that the sleeping leader watches

  typename System::Bell backup_bell_;
  typename System::Alarm alarm_;
  typename System::Signals signals_;
  typename System::Flag ask_wanted_{false};
  typename System::Flag guarded_{false};                     // the backup thread looks within kTick, or a leader reads
  bool late_ FRAY_GUARDED_BY(client_mutex) = false;          // it looks within kLate, unless a leader takes that back
  int late_calls_ FRAY_GUARDED_BY(client_mutex) = 0;         // since that was set
  bool rang_in_vain_ FRAY_GUARDED_BY(client_mutex) = false;  // the alarm, when it rang last; or nobody needs one
  LoopReading loops_ FRAY_GUARDED_BY(client_mutex);
  typename System::Flag backup_asleep_{false};  // for longer than kTick
  // Of the last look, and of the sleep that followed it:
  TimePoint looked_at_ FRAY_GUARDED_BY(client_mutex){};
  std::uint64_t seen_ FRAY_GUARDED_BY(client_mutex) = 0;           // frames
  bool watching_ FRAY_GUARDED_BY(client_mutex) = false;            // all sockets on which answers are due
  bool watches_node_ FRAY_GUARDED_BY(client_mutex) = false;        // the node's socket, whatever has been sent since
  bool hears_all_ FRAY_GUARDED_BY(client_mutex) = false;           // every answer that was due when it fell asleep
  std::uint64_t heard_version_ FRAY_GUARDED_BY(client_mutex) = 0;  // of the sockets then
  std::optional<TimePoint> polled_due_ FRAY_GUARDED_BY(client_mutex);
  std::optional<TimePoint> asleep_due_ FRAY_GUARDED_BY(client_mutex);  // polled_due_, or an earlier one set since
  typename System::Flag stopping_{false};
};

}  // namespace fray::client
