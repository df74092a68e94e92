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

#include "client/sim/played_system.h"
#include "client/sim/wait_world_schedule.h"
#include "client/threads/wait_kernel.h"

namespace fray::client {

namespace {

using namespace std::chrono_literals;
using namespace played;

constexpr auto kTick = 1ms;  // of the kernel
constexpr auto kLate = 5ms;  // likewise

// ---- The world ----

class World {
 public:
  World(std::uint64_t seed, SimulationLog& log) : log_(log), schedule_(seed), random_(schedule_.random()) {
    PlayedSystem::wakes = 0;
    has_duty_ = random_.percent(50);
    channels_.emplace_back().peer = Channel::Peer::kNode;
    for (std::uint32_t i = random_.below(3); i > 0; --i) channels_.emplace_back().peer = Channel::Peer::kWorker;
    for (std::uint32_t i = random_.below(3); i > 0; --i) channels_.emplace_back().peer = Channel::Peer::kActor;
    streams_ = random_.percent(10);
    quick_ = channels_.size() > 1 && random_.percent(3);
    duty_.peer = Channel::Peer::kDuty;
    PlayedSystem::crowded = random_.percent(20);
  }

  void run();

  // ---- Sources ----
  bool is_open() const FRAY_REQUIRES(client_mutex) { return open_ && !schedule_.has_failed(); }
  bool is_quiet() const FRAY_REQUIRES(client_mutex) {
    return unsent_.empty() && std::ranges::none_of(channels_, [](const Channel& channel) {
             return channel.peer != Channel::Peer::kNode && channel.unanswered > 0;
           });
  }
  bool has_unsent() const FRAY_REQUIRES(client_mutex) { return !unsent_.empty() || returned_.has_value(); }
  void flush() FRAY_REQUIRES(client_mutex) {
    returned_.reset();
    held_until_.reset();
    for (const Unsent& each : std::exchange(unsent_, {})) send(each.channel, each.object);
  }
  void flush_some() FRAY_REQUIRES(client_mutex) {
    const bool holds_back = !unsent_.empty() && !held_until_ && random_.percent(30);
    if (!holds_back) return flush();
    returned_.reset();
    held_until_ = schedule_.now() + kTick;
    for (Unsent& each : unsent_) each.since = *held_until_ - kTick;
  }
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
  void watch_busy(PlayedSystem::Watched& set) FRAY_REQUIRES(client_mutex) {
    for (const Channel& channel : channels_) {
      if (channel.is_busy()) set.push_back(&channel);
    }
  }
  void watch_node(PlayedSystem::Watched& set) FRAY_REQUIRES(client_mutex) { set.push_back(&channels_.front()); }
  void watch_unsent(PlayedSystem::Watched&) FRAY_REQUIRES(client_mutex) {}
  void watch_duty(PlayedSystem::Watched& set) FRAY_REQUIRES(client_mutex) {
    ++duty_asked_;
    schedule_.step();
    if (has_duty_) set.push_back(&duty_);
  }
  bool has_duty() const FRAY_REQUIRES(client_mutex) { return has_duty_; }
  std::size_t awaited_by_loops() const FRAY_REQUIRES(client_mutex) { return awaited_.size(); }
  void deliver() FRAY_REQUIRES(client_mutex) {
    if (line_due_ && schedule_.now() >= *line_due_) line_due_.reset();
  }
  void serve(TimePoint now) FRAY_REQUIRES(client_mutex) {
    if (lease_due_ && now >= *lease_due_) lease_due_.reset();
    deliver();
  }
  std::optional<TimePoint> next_due() FRAY_REQUIRES(client_mutex) {
    std::optional<TimePoint> due;
    for (const std::optional<TimePoint>& moment : {line_due_, lease_due_, held_until_}) {
      if (moment && (!due || *moment < *due)) due = moment;
    }
    if (due && *due <= schedule_.now()) due = TimePoint::min();  // as tables do that have something to do at once
    return due;
  }
  DutyPlan look_at_duty() FRAY_REQUIRES(client_mutex);

 private:
  struct Wait {
    int object = kNoObject;  // none: it waits not
    std::optional<TimePoint> deadline;
    TimePoint due = TimePoint::max();
    bool refused = false;
    int sleeps = 0;  // begun and not undone
    bool begun = false;
    bool listens = false;  // to signals
    std::optional<TimePoint> interrupted_at;
    bool is_main = false;
  };
  struct PlayedWaiter;
  struct Unsent {
    TimePoint since;
    std::size_t channel = 0;
    int object = kNoObject;
  };
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
  void send(std::size_t channel, int object) FRAY_REQUIRES(client_mutex);
  void wait_for(Wait& wait, int object);
  void check_outcome(const Wait& wait, int object, WaitResult result);

  void be_waiter(Wait& wait);
  void be_caller();
  void be_returner();
  void be_loop();
  void be_task_thread();
  void be_outside();
  void be_owner();
  void close();
  void at_rest(TimePoint next) FRAY_UNCHECKED_LOCKING;  // no other thread runs
  void check_wait(const Wait& wait, TimePoint next);
  void check_unread(const Channel& channel, TimePoint next) FRAY_UNCHECKED_LOCKING;  // likewise
  void check_duty(TimePoint next);
  void check_silence();
  void start(std::string_view name, std::function<void()> body);

  SimulationLog& log_;
  WaitSchedule schedule_;
  SimulationRandom& random_;
  PlayedMutex mutex_;
  WaitKernel<PlayedSystem, World> kernel_{mutex_, *this};
  std::deque<Channel> channels_;
  Channel duty_;
  bool has_duty_ = false;
  bool duty_runs_ = false;  // a task
  TimePoint duty_since_;
  TimePoint duty_deadline_ = TimePoint::max();
  bool duty_seen_ = false;       // the task is slow, and was looked at
  std::deque<bool> ready_;       // by object
  std::set<int> awaited_;        // by the event loop
  bool awaits_many_ = false;     // which are read in groups
  std::vector<Answer> answers_;  // that are to come
  std::deque<Wait> waits_;
  std::uint64_t version_ = 0;
  std::vector<Unsent> unsent_;
  std::optional<TimePoint> held_until_;  // what is unsent may wait until then
  std::optional<TimePoint> returned_;    // what the node is to be told, noted without the mutex
  std::optional<TimePoint> lease_due_;
  std::uint64_t events_ = 0;  // for which the backup thread may wake up
  bool open_ = true;
  std::uint64_t duty_asked_ = 0;  // by the backup thread
  std::optional<TimePoint> line_due_;
  bool streams_ = false;    // frames come all the time
  bool quick_ = false;      // one call after the other is answered while the caller spins
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
    wait.listens = true;
    world.schedule_.step();
  }
  void after_sleep() {
    --wait.sleeps;
    wait.listens = false;
    world.schedule_.step();
  }
  bool interrupted(bool) {
    world.schedule_.step();
    const bool give_up = wait.interrupted_at.has_value();
    if (give_up) wait.sleeps = 0;
    if (give_up) wait.listens = false;
    world.schedule_.step();
    return give_up;
  }
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
      lease_due_ = schedule_.now() + some_time();
    }
  }
}

void World::make_ready(int object) {
  if (ready_[static_cast<std::size_t>(object)]) return;
  ready_[static_cast<std::size_t>(object)] = true;
  if (awaited_.erase(object) > 0) kernel_.note_loop_told();
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
  ++events_;
  const std::size_t place = quick_ ? 1 : random_.below(channels_.size());
  if (channels_[place].peer == Channel::Peer::kActor && channels_[place].unanswered == 0) ++version_;
  ++channels_[place].unanswered;
  if (random_.percent(40)) {
    unsent_.push_back({schedule_.now(), place, object});
    kernel_.guard();
  } else {
    send(place, object);
    kernel_.guard_answers();
  }
  return object;
}

void World::send(std::size_t channel, int object) {
  answers_.push_back({schedule_.now() + (quick_ ? 3us : some_time()), channel, object});
}

DutyPlan World::look_at_duty() {
  mutex_.unlock();
  DutyPlan plan;
  if (duty_runs_ && schedule_.now() - duty_since_ < 1ms) {
    plan.look_at(duty_since_ + 1ms);
  } else if (duty_runs_) {
    duty_seen_ = duty_.armed = true;
    duty_.frames.clear();
    if (schedule_.now() >= duty_deadline_) duty_deadline_ = TimePoint::max();
    plan.look_at(duty_deadline_);
  }
  mutex_.lock();
  return plan;
}

// ---- The threads ----

void World::wait_for(Wait& wait, int object) {
  wait.object = object;
  wait.refused = false;
  wait.deadline.reset();
  wait.due = TimePoint::max();
  if (random_.percent(30)) wait.deadline = schedule_.now() + some_time();
  // Just as an answer comes, which may have a call sent.
  if (!answers_.empty() && random_.percent(10)) wait.deadline = answers_.front().when;
  if (random_.percent(20)) wait.due = schedule_.now() + 50ms;
  if (wait.interrupted_at) wait.interrupted_at = schedule_.now();  // during the wait before, which did not ask any more
  PlayedWaiter waiter{*this, wait};
  events_ += 2;
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
  for (std::uint32_t left = quick_ ? 100 : 1 + random_.below(4); left > 0; --left) {
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
    ++events_;
    if (random_.percent(30)) lease_due_ = schedule_.now() + some_time();
    make_ready(random_.percent(50) ? object : static_cast<int>(random_.below(ready_.size())));
    log_.fault("cancelled");
    kernel_.changed();
  }
  --active_;
}

// Notes memory that goes back to the node, without the mutex, and often just as another thread makes a call.
void World::be_returner() {
  for (std::uint32_t left = random_.below(3); left > 0; --left) {
    schedule_.pause(some_time());
    schedule_.block([this, seen = events_] { return events_ != seen; }, schedule_.now() + 20ms);
    if (!returned_) returned_ = schedule_.now();
    ++events_;
    kernel_.guard();
  }
  --active_;
}

// Awaits some calls at a time, as an event loop does: it sleeps on something of its own, and reads nothing.
void World::be_loop() {
  for (std::uint32_t left = random_.percent(40) ? 0 : 1 + random_.below(4); left > 0 && open_; --left) {
    const auto few = static_cast<std::uint32_t>(LoopReading::kFewAwaited);
    awaits_many_ = random_.percent(5);
    for (std::uint32_t more = awaits_many_ ? 2 * few : 1 + random_.below(3); more > 0; --more) {
      PlayedLock lock(mutex_);
      awaited_.insert(submit());
      flush();
      events_ += 2;
      kernel_.changed();
    }
    schedule_.block([this] { return awaited_.empty() || !open_; }, TimePoint::max());
    schedule_.pause(some_time());
  }
  --active_;
}

void World::be_task_thread() {
  for (std::uint32_t left = has_duty_ ? random_.below(4) : 0; left > 0; --left) {
    if (random_.percent(50)) {
      schedule_.pause(some_time());
    } else {  // just as the backup thread falls asleep
      schedule_.block([this, seen = duty_asked_] { return duty_asked_ != seen; }, schedule_.now() + 20ms);
    }
    duty_since_ = schedule_.now();
    duty_deadline_ = random_.percent(30) ? schedule_.now() + some_time() : TimePoint::max();
    duty_seen_ = false;
    duty_runs_ = true;
    events_ += 4;
    kernel_.guard();
    if (random_.percent(60)) {
      schedule_.pause(some_time());
      duty_.frames.push_back({kNoObject, schedule_.now()});
      log_.fault("message to the duty");
    }
    schedule_.pause(some_time());
    duty_runs_ = duty_.armed = false;
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
      ++events_;
      answers_.erase(first);
    }
    if (streams_ || random_.percent(15)) {
      channels_.front().frames.push_back({kNoObject, schedule_.now()});
      events_ += 2;  // it may be a line that is due some time later
      log_.fault("message of the node");
    }
    Wait& main = waits_.front();
    if (random_.percent(25) && main.is_main && main.begun && !main.interrupted_at) {
      main.interrupted_at = schedule_.now();
      ++events_;
      if (random_.percent(30)) {
        kernel_.ask_waiters();  // a task that is cancelled
      } else if (main.listens) {
        kernel_.signals().note();
      }
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
  ++active_;
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
  start("returner", [this] { be_returner(); });
  start("loop", [this] { be_loop(); });
  start("task", [this] { be_task_thread(); });
  schedule_.add("outside", [this] { be_outside(); });
  schedule_.add("backup", [this] { kernel_.run_backup(); });
  schedule_.add("owner", [this] { be_owner(); });
  schedule_.run([this](TimePoint next) { at_rest(next); });
}

// ---- What must hold when all sleep, before time goes on ----

void World::at_rest(TimePoint next) {
  ++log_.steps;
  for (const Wait& wait : waits_) {
    if (wait.begun) check_wait(wait, next);
  }
  for (const Channel& channel : channels_) check_unread(channel, next);
  if (duty_runs_ && open_) check_duty(next);
  if (kernel_.is_leaderless()) schedule_.fail("threads follow and none leads");
  if (!open_) return;
  if (line_due_ && next > *line_due_ + kTick + PlayedSystem::slack())
    schedule_.fail("a line is held for longer than it was to be");
  if (lease_due_ && next > *lease_due_ + kTick + PlayedSystem::slack())
    schedule_.fail("the backup thread does not come in time");
  if (!unsent_.empty() && next > unsent_.front().since + kTick + PlayedSystem::slack())
    schedule_.fail("a frame is not sent");
  if (returned_ && next > *returned_ + kTick + PlayedSystem::slack())
    schedule_.fail("what was noted without the mutex is not sent");
  check_silence();
}

// It may wake up for what happens, a moment later to see whether more follows, and for what is due then.
void World::check_silence() {
  constexpr std::uint64_t kForEach = 4;
  constexpr std::uint64_t kAtFirst = 8;
  if (PlayedSystem::wakes > kForEach * events_ + kAtFirst) schedule_.fail("the backup thread wakes up for nothing");
}

void World::check_duty(TimePoint next) {
  const TimePoint slow = duty_since_ + kTick;
  if (!duty_seen_ && next > slow + PlayedSystem::slack()) schedule_.fail("nobody looks at a slow task");
  if (duty_deadline_ != TimePoint::max() && next > std::max(duty_deadline_, slow) + PlayedSystem::slack()) {
    schedule_.fail("the timeout of a task is overslept");
  }
  if (!duty_.frames.empty() && next > std::max(duty_.frames.front().arrived, slow) + PlayedSystem::slack()) {
    schedule_.fail("a message to a slow task lies unread");
  }
}

void World::check_wait(const Wait& wait, TimePoint next) {
  if (ready_[static_cast<std::size_t>(wait.object)]) schedule_.fail("a thread sleeps and its result is there");
  if (wait.refused) schedule_.fail("a thread sleeps and its wait was refused");
  if (!open_) schedule_.fail("a thread sleeps and the client is closed");
  if (wait.deadline && next > *wait.deadline + PlayedSystem::slack())
    schedule_.fail("a thread oversleeps its deadline");
  if (wait.due != TimePoint::max() && next > wait.due + PlayedSystem::slack())
    schedule_.fail("a wait is not looked at when it is due");
  if (wait.interrupted_at && next > *wait.interrupted_at + PlayedSystem::slack()) {
    schedule_.fail("the main thread is not asked whether to give up");
  }
}

void World::check_unread(const Channel& channel, TimePoint next) {
  if (channel.frames.empty() || !open_) return;
  // An alarm that was set for kLate may be set anew, for kTick, just before it rings.
  const auto allowed = channel.peer == Channel::Peer::kNode ? kTick : kLate + kTick;
  if (next > channel.frames.front().arrived + allowed + PlayedSystem::slack()) {
    schedule_.fail(fmt::format("a frame lies unread on a socket of kind {}", static_cast<int>(channel.peer)));
  }
  for (const Frame& frame : channel.frames) {
    const auto late = awaits_many_ || kernel_.reads_in_groups() ? kTick : 0ms;
    if (awaited_.contains(frame.object) && next > frame.arrived + late + PlayedSystem::slack())
      schedule_.fail(fmt::format("an event loop waits for a frame that lies unread on a socket of kind {}",
                                 static_cast<int>(channel.peer)));
  }
}

}  // namespace

void run_wait_world(std::uint64_t seed, SimulationLog& log) {
  if (log.possible.empty()) list_possible(log);
  World(seed, log).run();
}

}  // namespace fray::client
