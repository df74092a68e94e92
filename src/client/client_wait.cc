// Waiting and reading: the leader, its followers and the backup thread. See the Threading paragraph of client.h.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "client/client.h"
#include "client/current_call.h"
#include "wire/lease.h"
#include "wire/memory.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {
constexpr auto kSpin = 20us;
constexpr auto kAskInterrupt = 25ms;  // how often a waiting main thread asks whether to give up
constexpr auto kTellAfter = 50ms;     // of a wait, before the node hears of it
constexpr auto kTellAgainMost = 1s;
constexpr std::uint64_t kNoTask = ~std::uint64_t{0};
constexpr auto kDrainLimit = 1s;  // for one answer of the node at the end of a program
constexpr int kMostDrainRounds = 50;
constexpr auto kExitPatience = 5s;      // with whoever reads the program's output and has stopped
constexpr int kHeldTick = 20;           // ms between looks whether workers may print again
constexpr int kTicksBeforeSleep = 100;  // ticks without progress, of 1 ms each
constexpr timespec kTick{0, 1'000'000};

int milliseconds_until(Clock::time_point when) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

void signal(const os::Fd& event) {
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(event.get(), &one, sizeof(one));
}

void take_signal(const os::Fd& event) {
  std::uint64_t count = 0;
  [[maybe_unused]] ssize_t got = ::read(event.get(), &count, sizeof(count));
}

// The hooks of a wait in which nobody needs what this process holds, so that it is not told to be blocked.
struct KeepingHooks : WaitHooks {
  explicit KeepingHooks(WaitHooks& those) : hooks(those) {}
  void before_sleep() override { hooks.before_sleep(); }
  void after_sleep() override { hooks.after_sleep(); }
  bool interrupted() override { return hooks.interrupted(); }
  bool is_main_thread() const override { return hooks.is_main_thread(); }
  bool waits_for_others() const override { return false; }
  WaitHooks& hooks;
};

}  // namespace

// ---- Reading ----

bool Client::pump() {
  std::uint64_t before = progress_;
  std::vector<Lease*> leases = tasks_.leases();
  for (Lease* lease : leases) {
    const std::vector<Lease*>& open = tasks_.leases();
    if (std::find(open.begin(), open.end(), lease) == open.end() || lease->dead || lease->idle()) continue;
    std::uint64_t seen = completions_;
    tasks_.receive(lease);
    if (completions_ != seen) ++progress_;
  }
  if (link_.is_open()) {
    Status read = link_.socket().fill();
    wire::Incoming frame;
    while (link_.is_open()) {
      Result<bool> more = link_.socket().next(&frame);
      if (!more.is_ok()) {
        node_lost(more.status().message());
        break;
      }
      if (!more.value()) break;
      ++progress_;
      handle(frame);
    }
    if (!read.is_ok()) {
      node_lost(read.code() == StatusCode::kUnavailable ? "the node is gone" : "the node is gone: " + read.message());
    }
  }
  settle();
  return progress_ != before;
}

void Client::became_ready(Object* object) {
  ++completions_;
  if (!object->detail || (object->detail->dependents.empty() && object->detail->listeners.empty())) return;
  retain(object);
  newly_ready_.push_back(object);
}

void Client::settle() {
  while (!newly_ready_.empty()) {
    std::vector<Object*> ready = std::move(newly_ready_);
    newly_ready_.clear();
    for (Object* object : ready) {
      if (object->is_ready()) tasks_.argument_ready(object);
      std::vector<CompletionQueue*> listeners = std::move(object->detail->listeners);
      object->detail->listeners.clear();
      for (CompletionQueue* queue : listeners) queue->add(object);
      if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(object);
    }
  }
  actors_.collect();
}

void Client::handle(wire::Incoming& frame) {
  using wire::ControlType;
  auto broken = [this](const Status& status) FRAY_REQUIRES(mutex_) { node_lost(status.message()); };
  for (const os::Fd& fd : frame.fds) {
    if (!fd.is_open()) memory_.give_back_warm();  // none was free for it, and segments kept for reuse have some
  }
  switch (static_cast<ControlType>(frame.header.type)) {
    case ControlType::kGrant: {
      auto message = wire::decode<wire::Grant>(frame.body);
      if (!message.is_ok() || frame.fds.size() != 1) return broken(message.status());
      return tasks_.granted(frame.header.id, message.value(), std::move(frame.fds.front()));
    }
    case ControlType::kLease: {
      auto message = wire::decode<wire::Lease>(frame.body);
      if (!message.is_ok() || frame.fds.size() != 1) return broken(message.status());
      early_leases_.push_back({frame.header.id, message->client, message->cpus, std::move(frame.fds.front())});
      return deliver_leases();
    }
    case ControlType::kBindDevices: {
      auto message = wire::decode<wire::BindDevices>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      early_devices_ = std::move(message).value();
      return deliver_leases();
    }
    case ControlType::kReclaim: {
      auto message = wire::decode<wire::Reclaim>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return tasks_.reclaim(message->demand, message->count);
    }
    case ControlType::kWorkerLost: {
      auto message = wire::decode<wire::WorkerLost>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return tasks_.worker_lost(frame.header.id, message.value());
    }
    case ControlType::kDemandRefused: {
      auto message = wire::decode<wire::DemandRefused>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return tasks_.refused(message->demand, message->code, message->reason);
    }
    case ControlType::kObjectReady: {
      auto message = wire::decode<wire::ObjectReady>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return object_arrived(message->object, std::move(message->value));
    }
    case ControlType::kObjectLost: {
      auto message = wire::decode<wire::ObjectLost>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      wire::Value failure;
      failure.encoding = wire::Encoding::kStatus;
      failure.bytes = std::string(1, static_cast<char>(message->code)) + message->message;
      return object_arrived(message->object, std::move(failure));
    }
    case ControlType::kSegmentOpened: {
      auto message = wire::decode<wire::SegmentInfo>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      Status mapped(StatusCode::kObjectLost, message->error);
      if (frame.fds.size() == 1 && !frame.fds.front().is_open()) {
        mapped = Status(StatusCode::kResourceExhausted,
                        "this process has no descriptor left to read the value with; close some, or raise its limit of "
                        "open files (ulimit -n), and try again");
      } else if (frame.fds.size() == 1)
        mapped = memory_.adopt(message->segment, std::move(frame.fds.front()), message->size);
      return answer_arrived(frame, std::move(mapped));
    }
    case ControlType::kFreeRange: {
      auto message = wire::decode<wire::FreeRange>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return memory_.free(message->location, message->reuse);
    }
    case ControlType::kEvict: {
      auto message = wire::decode<wire::SegmentName>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      message->ok = memory_.evict(message->segment);
      return link_.send(ControlType::kEvicted, 0, message.value());
    }
    case ControlType::kProbeWaits:
      return tell_all_again(frame.header.id);
    case ControlType::kWaitRefused: {
      auto message = wire::decode<wire::Text>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      return wait_refused(frame.header.id, std::move(message->text));
    }
    case ControlType::kYieldMemory: {
      auto message = wire::decode<wire::YieldMemory>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      if (message->announce) objects_.share_private();
      memory_.give_back_warm();
      return_memory();
      return link_.send(ControlType::kMemoryYielded);
    }
    case ControlType::kLog: {
      auto message = wire::decode<wire::Log>(frame.body);
      if (!message.is_ok()) return broken(message.status());
      ++logs_seen_;
      logs_.push_back(std::move(message.value()));
      return;
    }
    case ControlType::kReserved:
    case ControlType::kStatusReply:
    case ControlType::kActorAnswer:
    case ControlType::kActorNames:
      return answer_arrived(frame);
    case ControlType::kActorConnected:
    case ControlType::kActorLost:
    case ControlType::kHostActor:
      return handle_actor(frame);
    default:
      return broken(Status(StatusCode::kCorruption, "the node sent a message of an unknown type"));
  }
}

void Client::object_arrived(ObjectId id, wire::Value value) {
  Object* object = objects_.find(id);
  if (object == nullptr || object->is_ready() || object->producer != nullptr) return;
  object->encoding = value.encoding;
  if (value.kind == wire::ValueKind::kSealed) {
    object->sealed = true;
    object->details().location = value.location;
  } else {
    object->bytes = std::move(value.bytes);
  }
  if (!value.nested.empty()) object->details().nested_ids = std::move(value.nested);
  object->state.store(Object::State::kReady, std::memory_order_release);
  became_ready(object);
}

void Client::deliver_logs(bool all) {
  if (logs_.empty() && folder_.is_empty() && !output_held_) return;
  const Clock::time_point now = Clock::now();
  std::vector<wire::Log> logs = folder_.take_due(now);
  for (wire::Log& log : std::exchange(logs_, {})) {
    wire::Log shown = options_.fold_output ? folder_.pass(std::move(log), now) : std::move(log);
    if (!shown.text.empty()) logs.push_back(std::move(shown));
  }
  if (all) {
    for (wire::Log& log : folder_.take_all()) logs.push_back(std::move(log));
  }
  if (options_.output == nullptr) return;
  for (wire::Log& log : logs) options_.output->add(std::move(log));
  hold_output();
}

void Client::hold_output() {
  const bool hold = options_.output->wants_less(output_held_);
  if (hold == output_held_ || !link_.is_open()) return;
  output_held_ = hold;
  link_.send(hold ? wire::ControlType::kHoldOutput : wire::ControlType::kTakeOutput);
  link_.flush();
}

// ---- Waiting ----

void Client::fill_poll_set(std::vector<pollfd>& set, const os::Fd& wake) {
  set.clear();
  set.push_back({wake.get(), POLLIN, 0});
  if (link_.is_open()) {
    short events = POLLIN;
    if (link_.has_output()) events |= POLLOUT;
    set.push_back({link_.fd(), events, 0});
  }
  for (Lease* lease : tasks_.leases()) {
    if (lease->dead || (lease->actor != nullptr && lease->idle())) continue;  // the node tells of an actor's end
    short events = POLLIN;
    if (lease->socket.has_output()) events |= POLLOUT;
    set.push_back({lease->socket.fd(), events, 0});
  }
}

// A worker's task begins: somebody has to watch its socket. What the sleeper watches was fixed when it fell asleep.
void Client::wake_backup() {
  if (backup_asleep_) signal(wake_);
}

// Each sleeper has an event of its own: of two that sleep on one, the first to read it would leave the other asleep.
void Client::wake_sleepers() {
  if (leader_asleep_) signal(leader_wake_);
  signal(wake_);
}

// What a thread sleeps on, and for how long, is fixed when it falls asleep. Another thread may meanwhile have sent the
// first call to an idle actor, whose socket nobody watches, or a thread that read frames in the backup thread's place may
// leave a lease behind that is to be given back.
void Client::wake_stale_sleepers() {
  if (leader_asleep_) {
    if (leader_version_ != tasks_.watch_version()) signal(leader_wake_);
    return;
  }
  if (reader_busy_ || !backup_asleep_) return;  // who reads looks at everything before it sleeps
  const int tick = backup_tick();
  const std::optional<Clock::time_point> due = folder_.next_due();
  const bool late_for_tick = tick >= 0 && (asleep_tick_ < 0 || tick < asleep_tick_);
  const bool late_for_line = due && (!asleep_due_ || *due < *asleep_due_);
  if (late_for_tick || late_for_line || asleep_version_ != tasks_.watch_version()) signal(wake_);
}

WaitResult Client::wait_until(FunctionRef<bool()> condition, Deadline deadline, WaitHooks& hooks,
                              const Awaited* awaited) {
  MutexLock lock(mutex_);
  if (condition()) return WaitResult::kDone;
  tasks_.flush();
  std::optional<KnownWait> known;  // a wait that ends by itself is nobody's affair
  Clock::time_point tell_at = Clock::time_point::max();
  Clock::duration tell_again = kTellAfter;
  if (awaited != nullptr && !deadline && duty_ != nullptr && current_call.number != 0) {
    known.emplace();
    known->call = current_call;
    known->awaited = *awaited;
    tell_at = Clock::now() + kTellAfter;
  }
  std::optional<Sleeper> sleeper;
  bool asleep = false;
  bool is_long = false;
  std::optional<std::uint64_t> side_wait;
  auto note_silence = [&]() FRAY_REQUIRES(mutex_) {
    if (is_long || !session_.in_job || !hooks.waits_for_others() || hooks.duty() != nullptr) return;
    is_long = true;
    begin_long_wait();
  };
  auto leave = [&](WaitResult result) FRAY_UNCHECKED_LOCKING {  // returns without the lock
    if (is_long) end_long_wait();
    if (known) untell(*known);
    if (sleeper) {
      std::erase(sleepers_, &*sleeper);
      waits_changed();
    }
    if (side_wait) drop_side_wait(*side_wait);
    wake_stale_sleepers();
    lock.unlock();
    if (asleep) {
      hooks.after_sleep();
      if (WorkerDuty* duty = hooks.duty()) duty->unblocked();
    }
    return result;
  };
  auto fall_asleep = [&]() FRAY_REQUIRES(mutex_) {
    if (asleep) return;
    if (duty_ != nullptr && hooks.duty() == nullptr && hooks.waits_for_others() && !side_wait) {
      side_wait = add_side_wait();
    }
    if (duty_ != nullptr && awaited != nullptr && !deadline) {
      sleeper.emplace(Sleeper{::gettid(), current_call, *awaited, false, {}});
      sleepers_.push_back(&*sleeper);
      waits_changed();
    }
    mutex_.unlock();
    if (WorkerDuty* duty = hooks.duty()) duty->blocked();
    hooks.before_sleep();
    asleep = true;
    mutex_.lock();
  };
  auto interrupted = [&]() FRAY_REQUIRES(mutex_) {
    mutex_.unlock();
    if (asleep) hooks.after_sleep();
    bool give_up = hooks.interrupted();
    if (asleep && !give_up) hooks.before_sleep();
    mutex_.lock();
    if (give_up && asleep) {
      asleep = false;
      if (WorkerDuty* duty = hooks.duty()) {
        mutex_.unlock();
        duty->unblocked();
        mutex_.lock();
      }
    }
    return give_up;
  };

  std::vector<pollfd> set;
  bool spun = false;
  Clock::time_point ask = Clock::now() + kAskInterrupt;
  while (true) {
    if (condition()) return leave(WaitResult::kDone);
    if (!open_) return leave(WaitResult::kClosed);
    if (known && known->refused) {
      hooks.deadlock = std::move(known->why);
      return leave(WaitResult::kDeadlock);
    }
    if (sleeper && sleeper->refused) {
      hooks.deadlock = std::move(sleeper->why);
      return leave(WaitResult::kDeadlock);
    }
    if (tell_at != Clock::time_point::max() && Clock::now() >= tell_at) {
      tell_at = Clock::time_point::max();
      if (!tell(*known)) {  // what it waits for is on its way still
        tell_again = std::min<Clock::duration>(tell_again * 2, kTellAgainMost);
        tell_at = Clock::now() + tell_again;
      }
    }
    if (deadline && Clock::now() >= *deadline) return leave(WaitResult::kTimedOut);

    if (reader_busy_) {  // follow
      fall_asleep();
      if (!reader_busy_ || condition()) continue;
      auto until = Clock::now() + (hooks.is_main_thread() ? kAskInterrupt : std::chrono::milliseconds(1000));
      if (deadline && *deadline < until) until = *deadline;
      until = std::min(until, tell_at);
      ++followers_;
      readers_changed_.wait_until(lock, until);
      --followers_;
      if (Clock::now() >= until) note_silence();
      if (hooks.is_main_thread() && interrupted()) return leave(WaitResult::kInterrupted);
      continue;
    }

    reader_busy_ = true;  // lead
    auto step_down = [&]() FRAY_REQUIRES(mutex_) {
      reader_busy_ = false;
      if (followers_ > 0) readers_changed_.notify_all();
    };
    if (!spun) {
      spun = true;
      auto end = Clock::now() + kSpin;
      bool done = false;
      do {
        pump_tasks();
        if ((done = condition())) break;
        lock.unlock();
        ::sched_yield();
        lock.lock();
      } while (Clock::now() < end);
      if (done) {
        step_down();
        return leave(WaitResult::kDone);
      }
    }
    step_down();
    fall_asleep();
    if (reader_busy_) continue;  // somebody took over meanwhile
    if (condition()) continue;
    reader_busy_ = true;
    tasks_.flush();
    fill_poll_set(set, leader_wake_);
    leader_version_ = tasks_.watch_version();
    leader_asleep_ = true;
    int timeout = hooks.is_main_thread() ? static_cast<int>(kAskInterrupt.count()) : 1000;
    if (deadline) timeout = std::min(timeout, milliseconds_until(*deadline));
    if (known && tell_at != Clock::time_point::max()) timeout = std::min(timeout, milliseconds_until(tell_at));
    lock.unlock();
    int events = ::poll(set.data(), set.size(), timeout);
    bool woken = events < 0 || (set[0].revents & POLLIN) != 0;
    if (events > 0 && woken) take_signal(leader_wake_);
    lock.lock();
    leader_asleep_ = false;
    std::uint64_t seen = completions_;
    pump();
    bool notify = followers_ > 0 && completions_ != seen;
    reader_busy_ = false;
    if (notify || followers_ > 0) readers_changed_.notify_all();
    deliver_logs();
    if (events == 0) note_silence();
    // A signal that lands outside of poll() interrupts nothing, and while answers stream in poll() always finds some.
    if (events > 0 && (!hooks.is_main_thread() || Clock::now() < ask)) continue;
    if (interrupted()) return leave(WaitResult::kInterrupted);
    ask = Clock::now() + kAskInterrupt;
  }
}

void Client::begin_long_wait() {
  if (long_waits_++ > 0 || !link_.is_open()) return;
  link_.send(wire::ControlType::kBlocked);
  link_.flush();
}

void Client::end_long_wait() {
  if (--long_waits_ > 0 || !link_.is_open()) return;
  link_.send(wire::ControlType::kUnblocked);
  link_.flush();
}

// ---- Side waits ----

std::uint64_t Client::begin_side_wait(Object* object, CompletionQueue* queue) {
  MutexLock lock(mutex_);
  const std::uint64_t task = add_side_wait();
  if (task == kNoTask) return 0;
  retain(object);
  loop_sleepers_.emplace(++wait_numbers_, LoopSleeper{task, object, queue, {}});
  waits_changed();
  return wait_numbers_;
}

std::string Client::end_side_wait(std::uint64_t wait) {
  if (wait == 0) return {};
  MutexLock lock(mutex_);
  auto found = loop_sleepers_.find(wait);
  if (found == loop_sleepers_.end()) return {};
  LoopSleeper sleeper = std::move(found->second);
  loop_sleepers_.erase(found);
  waits_changed();
  drop_side_wait(sleeper.task);
  if (sleeper.object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(sleeper.object);
  return std::move(sleeper.why);
}

Client::SideWaits Client::side_waits() const {
  MutexLock lock(mutex_);
  return side_waits_;
}

std::uint64_t Client::add_side_wait() {
  if (duty_ == nullptr && !session_.in_job) return kNoTask;  // nobody wants to know
  if (side_waits_.lasting++ == 0) {
    side_waits_since_ = Clock::now();
    wake_backup();
  }
  return tasks_begun_;
}

void Client::drop_side_wait(std::uint64_t task) {
  if (task != tasks_begun_ || side_waits_.lasting == 0) return;
  --side_waits_.lasting;
  ++side_waits_.ended;
  if (lent_for_side_waits_ && side_waits_.lasting == 0) {
    lent_for_side_waits_ = false;
    end_long_wait();
  }
  if (duty_ != nullptr) wake_backup();  // it may have given back what the process needs now
}

// The program of a job that awaits its tasks in an event loop sleeps where nobody sees it.
void Client::lend_for_side_waits(Clock::time_point now) {
  if (!session_.in_job || lent_for_side_waits_ || side_waits_.lasting == 0) return;
  if (now - side_waits_since_ < kAskInterrupt) return;
  lent_for_side_waits_ = true;
  begin_long_wait();
}

WaitResult Client::wait_for_node(FunctionRef<bool()> answered, Deadline deadline, WaitHooks& hooks) {
  KeepingHooks keeping(hooks);
  return wait_until(answered, deadline, keeping);
}

void Client::pump_tasks() {
  std::vector<Lease*> leases = tasks_.leases();
  for (Lease* lease : leases) {
    const std::vector<Lease*>& open = tasks_.leases();
    if (lease->dead || lease->idle() || std::find(open.begin(), open.end(), lease) == open.end()) continue;
    std::uint64_t seen = completions_;
    tasks_.receive(lease);
    if (completions_ != seen) ++progress_;
  }
  settle();
}

WaitResult Client::wait(std::span<Object* const> objects, std::size_t needed, Deadline deadline, WaitHooks& hooks) {
  std::size_t ready = 0;
  std::size_t cursor = 0;  // everything before it is ready
  std::uint64_t scanned = ~std::uint64_t{0};
  auto enough = [&]() FRAY_REQUIRES(mutex_) {
    while (cursor < objects.size() && objects[cursor]->has_next()) ++cursor;
    if (cursor >= needed) return true;
    if (needed == objects.size() || scanned == completions_) return false;
    scanned = completions_;
    ready = cursor;
    for (std::size_t i = cursor; i < objects.size() && ready < needed; ++i) ready += objects[i]->has_next();
    return ready >= needed;
  };
  {
    MutexLock lock(mutex_);
    for (Object* object : objects) {
      if (!object->is_ready()) objects_.want(object);
    }
  }
  const Awaited awaited{objects, needed};
  return wait_until(enough, deadline, hooks, &awaited);
}

WaitResult Client::next_item(Object* stream, Object** item, Deadline deadline, WaitHooks& hooks) {
  *item = nullptr;
  auto available = [&] { return stream->has_next(); };
  const Awaited awaited{{&stream, 1}, 1};
  WaitResult result = wait_until(available, deadline, hooks, &awaited);
  if (result != WaitResult::kDone) return result;
  MutexLock lock(mutex_);
  ItemStream& items = *stream->detail->stream;
  if (items.items.empty()) return WaitResult::kDone;
  *item = items.items.front();
  items.items.pop_front();
  items.available.store(items.items.size(), std::memory_order_release);
  tasks_.taken(stream, (*item)->sealed ? (*item)->detail->location.size : (*item)->bytes.size() + 1);
  return WaitResult::kDone;
}

WaitResult Client::all_items(Object* stream, std::vector<Object*>* items, Deadline deadline, WaitHooks& hooks) {
  lift_item_limit(stream);
  const Awaited awaited{{&stream, 1}, 1};
  WaitResult result = wait_until([stream] { return stream->is_ready(); }, deadline, hooks, &awaited);
  if (result != WaitResult::kDone) return result;
  MutexLock lock(mutex_);
  for (Object* item : stream->detail->stream->items) {
    retain(item);
    items->push_back(item);
  }
  return result;
}

void Client::lift_item_limit(Object* stream) {
  MutexLock lock(mutex_);
  if (stream->stream) tasks_.taken(stream, ~std::uint64_t{0});
}

void Client::listen(Object* object, CompletionQueue* queue, bool flush) {
  MutexLock lock(mutex_);
  if (object->is_ready()) {
    bool told = !queue->empty();
    queue->add(object);
    if (told) return;
    // For a thread in wait_completed(), whether it leads or follows.
    wake_sleepers();
    if (followers_ > 0) readers_changed_.notify_all();
    return;
  }
  objects_.want(object);
  object->details().listeners.push_back(queue);
  if (flush) tasks_.flush();
  wake_stale_sleepers();
}

WaitResult Client::wait_completed(CompletionQueue* queue, Deadline deadline, WaitHooks& hooks) {
  return wait_until([queue] { return !queue->empty(); }, deadline, hooks);
}

void Client::forget_listener(CompletionQueue* queue, std::span<Object* const> objects) {
  if (abandoned_) return;
  MutexLock lock(mutex_);
  for (Object* object : objects) {
    queue->forget(object);
    if (object->detail) std::erase(object->detail->listeners, queue);
  }
}

std::vector<Object*> Client::take_completed(CompletionQueue* queue) {
  MutexLock lock(mutex_);
  return queue->take();
}

// A worker's last lines reach the node before its result reaches us; they come with the answer after the next one, or
// with later ones when there are many. So this asks until an answer brings no more.
void Client::drain_output(WaitHooks& hooks) {
  for (int round = 0; round < kMostDrainRounds && open_; ++round) {
    std::uint64_t seen = 0;
    {
      MutexLock lock(mutex_);
      seen = logs_seen_;
    }
    if (!ask_for_status(Clock::now() + kDrainLimit, hooks).is_ok()) return;
    MutexLock lock(mutex_);
    if (round > 0 && logs_seen_ == seen) break;
  }
  {
    MutexLock lock(mutex_);
    deliver_logs(true);
  }
  if (options_.output == nullptr) return;
  hooks.before_sleep();
  options_.output->finish(kExitPatience, [&hooks] {
    hooks.after_sleep();
    const bool goes_on = !hooks.interrupted();
    hooks.before_sleep();
    return goes_on;
  });
  hooks.after_sleep();
}

// ---- The backup thread ----

void Client::start_backup() {
  // Signals are for the program's own threads: none may land here.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  backup_ = std::thread([this] { backup_loop(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool Client::tick_duty() {
  WorkerDuty* duty = duty_;
  if (duty == nullptr) return false;
  duty_busy_ = true;
  mutex_.unlock();
  bool busy = duty->tick();
  mutex_.lock();
  duty_busy_ = false;
  duty_left_.notify_all();
  return busy;
}

int Client::backup_tick() const {
  if (output_held_) return kHeldTick;
  if (tasks_.unfinished() > 0) return 100;
  return tasks_.leases().empty() ? -1 : 250;
}

void Client::backup_loop() {
  std::uint64_t last_progress = 0;
  int idle_ticks = 0;
  std::vector<pollfd> set;
  while (!stopping_) {
    MutexLock lock(mutex_);
    if (!reader_busy_) {
      reader_busy_ = true;
      std::uint64_t seen = completions_;
      pump();
      reader_busy_ = false;
      if (followers_ > 0 && (completions_ != seen || !open_)) readers_changed_.notify_all();
    }
    if (open_) {
      return_memory();
      tasks_.tick(Clock::now(), false);
      actors_.tick(Clock::now());
      lend_for_side_waits(Clock::now());
    }
    settle();
    deliver_logs();
    idle_ticks = progress_ == last_progress ? idle_ticks + 1 : 0;
    last_progress = progress_;
    pollfd node{reader_busy_ || !link_.is_open() ? -1 : link_.fd(), POLLIN, 0};
    bool busy = tick_duty();
    if (stopping_) return;
    if (busy || idle_ticks < kTicksBeforeSleep) {
      lock.unlock();
      ::ppoll(&node, 1, &kTick, nullptr);  // leases and lost workers are not kept waiting for the next tick
      continue;
    }
    fill_poll_set(set, wake_);
    asleep_version_ = tasks_.watch_version();
    asleep_tick_ = backup_tick();
    asleep_due_ = folder_.next_due();
    int timeout = asleep_tick_;
    if (may_rest()) timeout = timeout < 0 ? milliseconds_to_look() : std::min(timeout, milliseconds_to_look());
    if (asleep_due_) timeout = std::clamp(milliseconds_until(*asleep_due_), 1, timeout < 0 ? 1000 : timeout);
    backup_asleep_ = true;  // before the duty is asked: a task that begins meanwhile wakes us
    if (int fd = duty_ == nullptr ? -1 : duty_->poll_fd(); fd >= 0) set.push_back({fd, POLLIN, 0});
    lock.unlock();
    if (!open_) timeout = 1000;
    int events = ::poll(set.data(), set.size(), timeout);
    backup_asleep_ = false;
    if (events > 0) idle_ticks = 0;
    if (events > 0 && (set[0].revents & POLLIN) != 0) take_signal(wake_);
  }
}

}  // namespace fray::client
