#include "client/sim/wait_world.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "client/sim/wait_world_schedule.h"
#include "client/wait_kernel.h"

namespace fray::client {

namespace {

using namespace std::chrono_literals;
using TimePoint = WaitSchedule::TimePoint;

constexpr auto kYield = 7us;
constexpr auto kSlack = 1500us;  // of what is done in time: spins, and milliseconds that are rounded up
constexpr int kNoObject = -1;

WaitSchedule& schedule() { return WaitSchedule::current(); }

// ---- What the kernel is given in place of the system ----

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
    if (!FRAY_MUTANT(54)) rung_ = false;
  }

 private:
  bool rung_ = false;
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

  bool is_watched() const { return peer != Peer::kActor || unanswered > 0; }
};

struct PlayedThread {
  bool signalled = false;  // and not yet in a poll
};

// What signals land on, by the number of the thread that runs.
std::vector<PlayedThread>* played_threads = nullptr;

struct PlayedSystem {
  using Mutex = PlayedMutex;
  using Lock = PlayedLock;
  using Condition = PlayedCondition;
  using Flag = PlayedFlag;
  using Bell = PlayedBell;
  using TimePoint = client::TimePoint;
  using Watched = std::vector<const Channel*>;

  static int ticks_before_sleep() { return ticks; }
  static TimePoint now() { return schedule().now(); }
  static void yield() {
    schedule().spend(kYield);
    schedule().step();
  }
  static bool has_frames(const Watched& set) {
    return std::ranges::any_of(set, [](const Channel* channel) { return !channel->frames.empty(); });
  }
  static Woke sleep(const Watched& set, PlayedBell& bell, int timeout) {
    const TimePoint until = timeout < 0 ? TimePoint::max() : now() + std::chrono::milliseconds(timeout);
    PlayedThread& self = (*played_threads)[schedule().self()];
    schedule().step();
    self.signalled = false;  // what came before the poll interrupts nothing
    schedule().block([&] { return bell.is_rung() || self.signalled || has_frames(set); }, until);
    const bool signalled = std::exchange(self.signalled, false);
    if (bell.is_rung()) {
      bell.take();
      return Woke::kEvent;
    }
    return has_frames(set) ? Woke::kEvent : signalled ? Woke::kSignal : Woke::kTime;
  }
  static void nap(const Watched& set, std::chrono::milliseconds span) {
    schedule().block([&] { return has_frames(set); }, now() + span);
  }

  static inline int ticks = 3;  // of the present seed
};

// ---- The world ----

class World {
 public:
  World(std::uint64_t seed, SimulationLog& log) : log_(log), schedule_(seed), random_(schedule_.random()) {
    PlayedSystem::ticks = 2 + static_cast<int>(random_.below(4));
    played_threads = &threads_;
    channels_.emplace_back().peer = Channel::Peer::kNode;
    for (std::uint32_t i = random_.below(3); i > 0; --i) channels_.emplace_back().peer = Channel::Peer::kWorker;
    for (std::uint32_t i = random_.below(3); i > 0; --i) channels_.emplace_back().peer = Channel::Peer::kActor;
    streams_ = random_.percent(10);
    duty_.peer = Channel::Peer::kDuty;
  }

  void run();

  // ---- Sources ----
  bool is_open() const FRAY_REQUIRES(client_mutex) { return open_ && !schedule_.has_failed(); }
  void flush() FRAY_REQUIRES(client_mutex) {}
  void read_all() FRAY_REQUIRES(client_mutex) {
    for (Channel& channel : channels_) {
      if (channel.is_watched()) read(channel);
    }
  }
  void read_workers() FRAY_REQUIRES(client_mutex) {
    for (Channel& channel : channels_) {
      if (channel.peer != Channel::Peer::kNode && channel.is_watched()) read(channel);
    }
  }
  void watch(PlayedSystem::Watched& set) FRAY_REQUIRES(client_mutex) {
    for (const Channel& channel : channels_) {
      if (channel.is_watched()) set.push_back(&channel);
    }
  }
  std::uint64_t watch_version() const FRAY_REQUIRES(client_mutex) { return version_; }
  void watch_node(PlayedSystem::Watched& set) FRAY_REQUIRES(client_mutex) { set.push_back(&channels_.front()); }
  void watch_duty(PlayedSystem::Watched& set) FRAY_REQUIRES(client_mutex) {
    ++duty_asked_;
    schedule_.step();
    if (duty_runs_) set.push_back(&duty_);
  }
  void deliver() FRAY_REQUIRES(client_mutex) {
    if (line_due_ && schedule_.now() >= *line_due_) line_due_.reset();
  }
  void serve(TimePoint now) FRAY_REQUIRES(client_mutex) {
    served_at_ = now;
    deliver();
  }
  BackupPlan<TimePoint> plan() FRAY_REQUIRES(client_mutex) {
    BackupPlan<TimePoint> plan;
    plan.tick = unanswered_ > 0 ? 100 : has_lease_ ? 250 : -1;
    plan.due = line_due_;
    return plan;
  }
  bool tick_duty() FRAY_REQUIRES(client_mutex) {
    mutex_.unlock();
    duty_.frames.clear();
    const bool busy = duty_runs_ && random_.percent(30);
    mutex_.lock();
    return busy;
  }

 private:
  struct Wait {
    int object = kNoObject;  // none: it waits not
    std::optional<TimePoint> deadline;
    TimePoint due = TimePoint::max();
    bool refused = false;
    int sleeps = 0;  // begun and not undone
    bool begun = false;
    std::optional<TimePoint> interrupted_at;
    std::size_t thread = 0;
    bool is_main = false;
  };
  struct PlayedWaiter;
  struct Answer {
    TimePoint when;
    std::size_t channel = 0;
    int object = kNoObject;
  };

  std::chrono::microseconds some_time() {
    static constexpr std::chrono::microseconds kTimes[] = {0us, 0us, 5us,  30us, 400us, 1ms,
                                                           2ms, 3ms, 12ms, 60ms, 300ms};
    return kTimes[random_.below(std::size(kTimes))];
  }

  void read(Channel& channel) FRAY_REQUIRES(client_mutex);
  void refuse_some_wait() FRAY_REQUIRES(client_mutex);
  void make_ready(int object) FRAY_REQUIRES(client_mutex);
  int submit() FRAY_REQUIRES(client_mutex);
  void wait_for(Wait& wait, int object);
  void check_outcome(const Wait& wait, int object, WaitResult result);

  void be_waiter(Wait& wait);
  void be_caller();
  void be_task_thread();
  void be_outside();
  void be_owner();
  void close();
  void at_rest(TimePoint next) FRAY_UNCHECKED_LOCKING;  // no other thread runs
  void check_wait(const Wait& wait, TimePoint next);
  void check_unread(const Channel& channel, TimePoint next);
  void start(std::string_view name, std::function<void()> body);

  SimulationLog& log_;
  WaitSchedule schedule_;
  SimulationRandom& random_;
  PlayedMutex mutex_;
  WaitKernel<PlayedSystem, World> kernel_{mutex_, *this};
  std::vector<PlayedThread> threads_;
  std::deque<Channel> channels_;
  Channel duty_;
  bool duty_runs_ = false;
  std::deque<bool> ready_;       // by object
  std::vector<Answer> answers_;  // that are to come
  std::deque<Wait> waits_;
  std::uint64_t version_ = 0;
  int unanswered_ = 0;
  bool has_lease_ = false;
  bool open_ = true;
  std::uint64_t duty_asked_ = 0;  // by the backup thread
  std::optional<TimePoint> line_due_;
  TimePoint served_at_;
  int tick_seen_ = -1;
  TimePoint tick_since_;
  bool streams_ = false;    // frames come all the time
  std::size_t active_ = 0;  // threads that wait, call or run tasks
  bool over_ = false;       // nothing more comes from outside
};

// As Client does it: what the user's thread does around its wait.
struct World::PlayedWaiter {
  World& world;
  Wait& wait;

  bool is_main_thread() const { return wait.is_main; }
  void begin() { wait.begun = true; }
  void end() { wait.begun = false; }
  bool is_refused() const { return wait.refused; }
  TimePoint due() const { return wait.due; }
  void fell_due() { wait.due = world.random_.percent(50) ? TimePoint::max() : world.schedule_.now() + 5ms; }
  void fall_asleep() {}
  void before_sleep() {
    ++wait.sleeps;
    world.schedule_.step();
  }
  void after_sleep() {
    --wait.sleeps;
    world.schedule_.step();
  }
  bool interrupted(bool) {
    world.schedule_.step();
    const bool give_up = wait.interrupted_at.has_value();
    if (give_up) wait.sleeps = 0;
    return give_up;
  }
  void silent() {}
};

void World::read(Channel& channel) {
  while (!channel.frames.empty()) {
    const Frame frame = channel.frames.front();
    channel.frames.pop_front();
    kernel_.note_progress();
    if (channel.unanswered > 0) --channel.unanswered;
    if (frame.object != kNoObject) {
      make_ready(frame.object);
      if (random_.percent(15)) submit();  // a call that waited for it
    } else if (random_.percent(30)) {
      refuse_some_wait();
    } else if (random_.percent(50)) {
      const TimePoint due = schedule_.now() + 20ms;
      if (!line_due_) line_due_ = due;
    } else {
      has_lease_ = random_.percent(50);
    }
  }
}

void World::make_ready(int object) {
  if (ready_[static_cast<std::size_t>(object)]) return;
  ready_[static_cast<std::size_t>(object)] = true;
  --unanswered_;
  kernel_.note_news();
}

// The node says that it can never end.
void World::refuse_some_wait() {
  Wait& wait = waits_[random_.below(waits_.size())];
  if (!wait.begun) return;
  wait.refused = true;
  kernel_.note_news();
}

// A call, which is answered some time later.
int World::submit() {
  const int object = static_cast<int>(ready_.size());
  ready_.push_back(false);
  ++unanswered_;
  const std::size_t place = random_.below(channels_.size());
  Channel& channel = channels_[place];
  if (!channel.is_watched()) ++version_;
  ++channel.unanswered;
  answers_.push_back({schedule_.now() + some_time(), place, object});
  return object;
}

// ---- The threads ----

void World::wait_for(Wait& wait, int object) {
  wait.object = object;
  wait.refused = false;
  wait.deadline.reset();
  wait.due = TimePoint::max();
  if (random_.percent(30)) wait.deadline = schedule_.now() + some_time();
  if (random_.percent(20)) wait.due = schedule_.now() + 50ms;
  if (wait.interrupted_at) wait.interrupted_at = schedule_.now();  // during the wait before, which did not ask any more
  PlayedWaiter waiter{*this, wait};
  const auto is_there = [this, object] { return bool(ready_[static_cast<std::size_t>(object)]); };
  const WaitResult result = kernel_.wait(is_there, wait.deadline, waiter);
  wait.object = kNoObject;
  check_outcome(wait, object, result);
  if (result == WaitResult::kInterrupted) wait.interrupted_at.reset();
}

constexpr std::string_view kOutcomes[] = {"done", "timed out", "interrupted", "closed", "refused"};  // as WaitResult

void list_possible(SimulationLog& log) {
  for (std::string_view outcome : kOutcomes) {
    log.possible.insert({"main thread", outcome});
    if (outcome != "interrupted") log.possible.insert({"thread", outcome});
  }
}

void World::check_outcome(const Wait& wait, int object, WaitResult result) {
  const std::string_view outcome = kOutcomes[static_cast<int>(result)];
  log_.event(wait.is_main ? "main thread" : "thread", outcome);
  if (schedule_.has_failed()) return;
  const bool is_true = result == WaitResult::kDone          ? bool(ready_[static_cast<std::size_t>(object)])
                       : result == WaitResult::kTimedOut    ? wait.deadline && schedule_.now() >= *wait.deadline
                       : result == WaitResult::kInterrupted ? wait.interrupted_at.has_value()
                       : result == WaitResult::kClosed      ? !open_
                                                            : wait.refused;
  if (!is_true) schedule_.fail(fmt::format("a wait ends as {}, which is not so", outcome));
  if (wait.sleeps != 0) schedule_.fail("a wait ends and what was done before its sleep is not undone");
  if (wait.begun) schedule_.fail("a wait has begun and does not end");
}

void World::be_waiter(Wait& wait) {
  wait.thread = schedule_.self();
  for (std::uint32_t left = 1 + random_.below(4); left > 0; --left) {
    int object = 0;
    {
      PlayedLock lock(mutex_);
      // Several may wait for the same.
      object = ready_.empty() || random_.percent(60) ? submit() : static_cast<int>(random_.below(ready_.size()));
      kernel_.changed();
    }
    if (random_.percent(30)) schedule_.pause(some_time());
    wait_for(wait, object);
  }
  --active_;
}

// Makes calls that nobody may wait for, and takes some back.
void World::be_caller() {
  for (std::uint32_t left = random_.below(5); left > 0; --left) {
    schedule_.pause(some_time());
    PlayedLock lock(mutex_);
    const int object = submit();
    kernel_.changed();
    lock.unlock();
    if (!random_.percent(40)) continue;
    schedule_.pause(some_time());
    PlayedLock again(mutex_);
    make_ready(random_.percent(50) ? object : static_cast<int>(random_.below(ready_.size())));
    log_.fault("cancelled");
    kernel_.changed();
  }
  --active_;
}

void World::be_task_thread() {
  for (std::uint32_t left = random_.below(3); left > 0; --left) {
    if (random_.percent(50)) {
      schedule_.pause(some_time());
    } else {  // just as the backup thread falls asleep
      schedule_.block([this, seen = duty_asked_] { return duty_asked_ != seen; }, schedule_.now() + 20ms);
    }
    duty_runs_ = true;
    kernel_.wake_backup();
    if (random_.percent(60)) {
      schedule_.pause(some_time());
      duty_.frames.push_back({kNoObject, schedule_.now()});
      log_.fault("message to the duty");
    }
    schedule_.pause(some_time());
    duty_runs_ = false;
    duty_.frames.clear();
    schedule_.step();
  }
  --active_;
}

// Answers arrive; so do signals, and frames that nobody waits for.
void World::be_outside() {
  while (!over_ && !schedule_.has_failed()) {
    auto first = std::ranges::min_element(answers_, {}, &Answer::when);
    const std::size_t known = answers_.size();
    TimePoint until = first == answers_.end() ? schedule_.now() + 500ms : first->when;
    if (streams_) until = std::min(until, schedule_.now() + 4ms);
    schedule_.block([&] { return answers_.size() != known || over_; }, until);
    if (answers_.size() != known) continue;
    if (first != answers_.end() && first->when <= schedule_.now()) {
      channels_[first->channel].frames.push_back({first->object, schedule_.now()});
      answers_.erase(first);
    }
    if (streams_ || random_.percent(15)) {
      channels_.front().frames.push_back({kNoObject, schedule_.now()});
      log_.fault("message of the node");
    }
    Wait& main = waits_.front();
    if (random_.percent(10) && main.is_main && main.begun && !main.interrupted_at) {
      main.interrupted_at = schedule_.now();
      threads_[main.thread].signalled = random_.percent(50);  // or it landed on another thread
      log_.fault("signal");
    }
    schedule_.step();
  }
}

void World::close() {
  PlayedLock lock(mutex_);
  open_ = false;
  kernel_.wake_all();
}

void World::be_owner() {
  if (random_.percent(10)) {
    schedule_.pause(some_time());
    close();
    log_.fault("closed early");
  }
  while (active_ > 0) schedule_.block([this] { return active_ == 0; }, TimePoint::max());
  over_ = true;
  if (open_) close();
  kernel_.stop();
}

void World::start(std::string_view name, std::function<void()> body) {
  threads_.emplace_back();
  schedule_.add(name, std::move(body));
}

void World::run() {
  const std::uint32_t waiting = 1 + random_.below(3);
  for (std::uint32_t i = 0; i < waiting; ++i) {
    Wait& wait = waits_.emplace_back();
    wait.is_main = i == 0 && random_.percent(50);
    start("waiter", [this, &wait] { be_waiter(wait); });
  }
  start("caller", [this] { be_caller(); });
  start("task", [this] { be_task_thread(); });
  active_ = threads_.size();
  start("outside", [this] { be_outside(); });
  start("backup", [this] { kernel_.run_backup(); });
  start("owner", [this] { be_owner(); });
  served_at_ = schedule_.now();
  schedule_.run([this](TimePoint next) { at_rest(next); });
}

// ---- What must hold when all sleep, before time goes on ----

void World::at_rest(TimePoint next) {
  ++log_.steps;
  for (const Wait& wait : waits_) {
    if (wait.begun) check_wait(wait, next);
  }
  for (const Channel& channel : channels_) check_unread(channel, next);
  if (duty_runs_) check_unread(duty_, next);
  if (kernel_.is_leaderless()) schedule_.fail("threads follow and none leads");
  if (line_due_ && open_ && next > *line_due_ + WaitKernel<PlayedSystem, World>::kTick + kSlack) {
    schedule_.fail("a line is held for longer than it was to be");
  }
  const int tick = plan().tick;
  if (tick != tick_seen_) tick_since_ = schedule_.now();
  tick_seen_ = tick;
  if (open_ && tick >= 0 && next > std::max(served_at_, tick_since_) + std::chrono::milliseconds(tick) + kSlack) {
    schedule_.fail("the backup thread does not come in time");
  }
}

void World::check_wait(const Wait& wait, TimePoint next) {
  if (ready_[static_cast<std::size_t>(wait.object)]) schedule_.fail("a thread sleeps and its result is there");
  if (wait.refused) schedule_.fail("a thread sleeps and its wait was refused");
  if (!open_) schedule_.fail("a thread sleeps and the client is closed");
  if (wait.deadline && next > *wait.deadline + kSlack) schedule_.fail("a thread oversleeps its deadline");
  if (wait.due != TimePoint::max() && next > wait.due + kSlack)
    schedule_.fail("a wait is not looked at when it is due");
  if (wait.interrupted_at &&
      next > *wait.interrupted_at + 2 * WaitKernel<PlayedSystem, World>::kAskInterrupt + kSlack) {
    schedule_.fail("the main thread does not ask whether to give up");
  }
}

void World::check_unread(const Channel& channel, TimePoint next) {
  if (channel.frames.empty() || !open_) return;
  if (next > channel.frames.front().arrived + WaitKernel<PlayedSystem, World>::kTick + kSlack) {
    schedule_.fail(fmt::format("a frame lies unread on a socket of kind {}", static_cast<int>(channel.peer)));
  }
}

}  // namespace

void run_wait_world(std::uint64_t seed, SimulationLog& log) {
  if (log.possible.empty()) list_possible(log);
  World(seed, log).run();
}

}  // namespace fray::client
