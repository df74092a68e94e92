#include "worker/actor_loop.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/clock.h"
#include "worker/pacing.h"

namespace fray::worker {

namespace {

constexpr std::uint64_t kWakeId = 0;

}  // namespace

ActorLoop::ActorLoop(client::Client& client, Page& page, std::string actor_name)
    : client_(client),
      page_(page),
      actor_name_(std::move(actor_name)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      callers_(page, epoll_.get()) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
}

ActorLoop::~ActorLoop() = default;

void ActorLoop::wake() {
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(wake_.get(), &one, sizeof(one));
}

// ---- Callers ----

void ActorLoop::lease_arrived(LeaseId, ProcessId client, double, os::Fd fd) {
  MutexLock lock(mutex_);
  if (fd.is_open()) callers_.add(client, std::move(fd));
}

void ActorLoop::drop(std::uint64_t id) {
  if (!callers_.drop(id)) return;
  std::erase_if(inbox_, [id](const Frame& frame) { return frame.caller == id; });
  for (ActorCall& call : running_) {
    if (call.caller == id) call.cancelled = newly_cancelled_ = true;
  }
  client_.ask_waiters();
  items_taken_.notify_all();
}

// ---- Reading ----

// Reads all sockets that have input; waits up to `timeout_ms` for one, with the mutex released.
void ActorLoop::read_ready(int timeout_ms) {
  if (auto* only = callers_.only(); timeout_ms == 0 && only != nullptr) {
    if (only->second.watches_output) callers_.flush(only->first, only->second);
    return read(only->first);
  }
  std::array<epoll_event, 64> events;
  auto look = [&] { return ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms); };
  int count = 0;
  if (timeout_ms == 0) {
    count = look();
  } else {
    mutex_.unlock();
    count = look();
    mutex_.lock();
  }
  if (count < 0 && errno != EINTR) end_without_descriptors();
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == kWakeId) {
      std::uint64_t times = 0;
      [[maybe_unused]] ssize_t got = ::read(wake_.get(), &times, sizeof(times));
      continue;
    }
    if ((event.events & EPOLLOUT) != 0) {
      if (Caller* caller = callers_.find(event.data.u64)) callers_.flush(event.data.u64, *caller);
    }
    if ((event.events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read(event.data.u64);
  }
}

void ActorLoop::read(std::uint64_t id) {
  Caller* caller = callers_.find(id);
  if (caller == nullptr) return;
  wire::FrameSocket& socket = caller->socket;
  Status read = socket.fill();
  wire::Incoming incoming;
  while (true) {
    Result<bool> more = socket.next(&incoming);
    if (!more.is_ok()) return drop(id);
    if (!more.value()) break;
    sort_frame(id, socket, incoming);
  }
  if (read.is_ok()) return;
  if (read.code() != StatusCode::kUnavailable) end_without_descriptors();
  drop(id);
}

void ActorLoop::sort_frame(std::uint64_t id, wire::FrameSocket& socket, wire::Incoming& incoming) {
  switch (static_cast<wire::DirectType>(incoming.header.type)) {
    case wire::DirectType::kTask:
      inbox_.push_back({id, incoming.header.id, socket.take_body(incoming)});
      return;
    case wire::DirectType::kCancel:
      return cancel(id, incoming.header.id, !incoming.body.empty());
    case wire::DirectType::kTaken: {
      ActorCall* call = find_running(id, incoming.header.id);
      if (call == nullptr) return;
      wire::ByteReader in(incoming.body);
      call->untaken.taken(in.get<std::uint64_t>());
      items_taken_.notify_all();
      return;
    }
    default:
      return;
  }
}

ActorCall* ActorLoop::find_running(std::uint64_t id, std::uint64_t number) {
  for (ActorCall& call : running_) {
    if (call.caller == id && call.task.number == number) return &call;
  }
  return nullptr;
}

// A call that has not started is answered at once. A running plain method goes on; a running async method is cancelled by
// the event loop.
void ActorLoop::cancel(std::uint64_t id, std::uint64_t number, bool recursive) {
  if (ActorCall* call = find_running(id, number)) {
    if (!recursive) return interrupt(*call);
    call->cancels_started = cancels_started_ = true;
    return;
  }
  auto place = std::find_if(inbox_.begin(), inbox_.end(),
                            [&](const Frame& frame) { return frame.caller == id && frame.number == number; });
  if (place == inbox_.end()) return;
  inbox_.erase(place);
  wire::ResultHead head;
  head.status = wire::TaskStatus::kCancelled;
  Caller& caller = *callers_.find(id);
  wire::append_result(caller.socket.output(), number, head);
  callers_.mark_dirty(id, caller);
}

void ActorLoop::interrupt(ActorCall& call) {
  call.cancelled = newly_cancelled_ = true;
  call.told = false;  // a call that went on after the last cancel is told again
  client_.ask_waiters();
  items_taken_.notify_all();
}

// The client's own mutex has to be taken before `mutex_`, so `mutex_` is released. A call is interrupted once what it has
// started is cancelled: it may end then, and the client forgets what it has started.
void ActorLoop::cancel_started() {
  cancels_started_ = false;
  std::vector<std::uint64_t> calls;
  for (ActorCall& call : running_) {
    if (std::exchange(call.cancels_started, false)) calls.push_back(call.ordinal);
  }
  mutex_.unlock();
  for (std::uint64_t call : calls) client_.tasks().cancel_started(call);
  mutex_.lock();
  for (ActorCall& call : running_) {
    if (std::ranges::find(calls, call.ordinal) != calls.end()) interrupt(call);
  }
}

// ---- Calls ----

ActorCall* ActorLoop::take() {
  Frame& frame = inbox_.front();
  ActorCall& call = running_.emplace_back();
  call.place = std::prev(running_.end());
  call.caller = frame.caller;
  call.body = std::move(frame.body);
  call.task.number = frame.number;
  inbox_.pop_front();
  ++taken_;
  const Caller& caller = *callers_.find(call.caller);
  call.task.client = caller.client;
  wire::ByteReader in(call.body);
  call.task.read(in);
  call.started_ns = os::monotonic_ns();
  call.ordinal = ++begun_;
  if (caller.slot >= 0) page_.call_started(static_cast<std::uint32_t>(caller.slot), call.task.number);
  std::string name = actor_name_;
  name += '.';
  name += call.task.name;
  page_.started(call.task, name, call.started_ns);
  return &call;
}

void ActorLoop::read() {
  MutexLock lock(mutex_);
  if (!reader_busy_) read_ready(0);
}

ActorCall* ActorLoop::next_read() {
  MutexLock lock(mutex_);
  return stop_ || inbox_.empty() ? nullptr : take();
}

bool ActorLoop::has_calls() {
  MutexLock lock(mutex_);
  return !inbox_.empty();
}

// While calls come several at a time, a yield gives the CPU to their senders, who send more. While calls come one by one, a
// yield may give it to a process that keeps it for long, so the thread rather sleeps then (os/process/crowded_cpu.h).
bool ActorLoop::yield_once(Spin& spin) {
  const std::uint64_t now = os::monotonic_ns();
  if (spin.until_ns == 0) spin.until_ns = now + kSpinNs;
  if (taken_ > 0) spin.one_by_one = std::exchange(taken_, 0) == 1;
  if (now >= spin.until_ns || (spin.one_by_one && crowd_.wants_cpu(now))) return false;
  mutex_.unlock();
  if (spin.one_by_one) {
    crowd_.yield(now);
  } else {
    ::sched_yield();
  }
  mutex_.lock();
  return true;
}

bool ActorLoop::spin() {
  MutexLock lock(mutex_);
  Spin spin;
  do {
    if (stop_) return true;
    read_ready(0);
    callers_.flush_all();  // the answers to calls that were cancelled before they began
    if (!inbox_.empty()) return true;
  } while (yield_once(spin));
  return false;
}

ActorCall* ActorLoop::next(bool wait, client::WaitHooks& hooks) {
  MutexLock lock(mutex_);
  Spin spin;
  while (!stop_) {
    if (inbox_.empty()) slow_watch_.disarm();
    if (inbox_.empty() && !reader_busy_) read_ready(0);  // the answers to the calls that have arrived share one write
    if (cancels_started_) cancel_started();
    if (!inbox_.empty()) {
      ActorCall* call = take();
      const bool needs_look = watch_call(*call);
      if (sleepers_ > 0) calls_changed_.notify_one();  // another thread reads, or takes the next call
      lock.unlock();
      if (needs_look) client_.guard();
      return call;
    }
    callers_.flush_all();
    if (!wait) return nullptr;
    if (reader_busy_) {
      lock.unlock();
      hooks.before_sleep();
      lock.lock();
      ++sleepers_;
      calls_changed_.wait(lock, [this]() FRAY_REQUIRES(mutex_) { return stop_ || !inbox_.empty() || !reader_busy_; });
      --sleepers_;
      lock.unlock();
      hooks.after_sleep();
      lock.lock();
      continue;
    }
    if (mode_ == Mode::kSerial && yield_once(spin)) continue;
    spin.until_ns = 0;
    reader_busy_ = true;
    lock.unlock();
    hooks.before_sleep();
    lock.lock();
    if (running_.empty()) slow_watch_.rest();
    if (!stop_ && inbox_.empty()) read_ready(-1);
    reader_busy_ = false;
    lock.unlock();
    hooks.after_sleep();
    if (hooks.interrupted()) return nullptr;
    lock.lock();
  }
  return nullptr;
}

bool ActorLoop::watch_call(const ActorCall& call) {
  const bool alone = inbox_.empty() && !callers_.is_any_dirty();
  patience_ns_ = mode_ != Mode::kSerial                  ? kSlowNs
                 : last_duration_ns_ >= kSlowNs          ? 0
                 : alone && last_duration_ns_ < kShortNs ? kPatienceNs
                                                         : kSlowNs;
  if (patience_ns_ == 0) {
    callers_.flush_all();
    slow_watch_.arm(epoll_.get(), EPOLLIN);
  } else {
    slow_watch_.disarm();
    if (patience_ns_ > kSlowNs) slow_watch_.begin_patiently(call.started_ns);
  }
  return patience_ns_ == kSlowNs;
}

void ActorLoop::answer(ActorCall* call, Outcome& outcome) {
  outcome.keep_within(wire::most_body_bytes(client_.node().store_limit_bytes));
  // Holds on objects in the arguments, and records of objects in the results, must reach the node before the answer
  // does.
  client_.task_ended();
  client_.tasks().forget_started(call->ordinal);
  MutexLock lock(mutex_);
  const std::uint64_t duration_ns = os::monotonic_ns() - call->started_ns;
  last_duration_ns_ = duration_ns;
  if (Caller* caller = callers_.find(call->caller)) {
    wire::ResultHead head;
    head.started_ns = call->started_ns;
    head.duration_ns = duration_ns;
    head.status = outcome.status;
    head.values = outcome.values;
    head.bytes_in = outcome.bytes_in;
    head.bytes_out = outcome.bytes_out;
    wire::append_result(caller->socket.output(), call->task.number, head, outcome.bytes);
    callers_.mark_dirty(call->caller, *caller);
    if (mode_ == Mode::kSerial && caller->slot >= 0) {
      page_.call_ended(static_cast<std::uint32_t>(caller->slot), call->task.number);
    }
    if (caller->socket.output_bytes() > kFlushBytes) callers_.flush(call->caller, *caller);
  }
  running_.erase(call->place);
  if (running_.empty()) page_.ended();
  if (mode_ != Mode::kEventLoop) return;
  client_.guard();  // the loop may be too busy to send the answer
  if (duration_ns >= kSlowNs) check_descriptors();
}

void ActorLoop::flush() {
  MutexLock lock(mutex_);
  callers_.flush_all();
}

bool ActorLoop::has_ended() {
  MutexLock lock(mutex_);
  return stop_;
}

bool ActorLoop::send_item(ActorCall* call, std::uint32_t index, std::string_view value, std::uint64_t value_bytes,
                          bool wait, client::WaitHooks& hooks) {
  client_.flush_link();  // records of objects in the item must arrive first
  MutexLock lock(mutex_);
  Caller* caller = callers_.find(call->caller);
  if (caller == nullptr || call->cancelled) return false;
  wire::append_item(caller->socket.output(), call->task.number, index, value);
  callers_.flush(call->caller, *caller);
  call->untaken.sent(value_bytes);
  if (wait && !may_go_on(*call)) {
    lock.unlock();
    hooks.before_sleep();
    lock.lock();
    while (!may_go_on(*call)) items_taken_.wait_until(lock, client::Clock::now() + kLongSleep);
    lock.unlock();
    hooks.after_sleep();
    lock.lock();
  }
  return !call->cancelled && !stop_;
}

bool ActorLoop::may_send(ActorCall* call) {
  MutexLock lock(mutex_);
  return may_go_on(*call);
}

bool ActorLoop::may_go_on(const ActorCall& call) const {
  return call.untaken.leaves_room(call.task.head) || call.cancelled || stop_;
}

bool ActorLoop::is_cancelled(ActorCall* call) {
  MutexLock lock(mutex_);
  return call->cancelled;
}

std::vector<ActorCall*> ActorLoop::take_cancelled() {
  MutexLock lock(mutex_);
  std::vector<ActorCall*> cancelled;
  if (cancels_started_) cancel_started();
  if (!std::exchange(newly_cancelled_, false)) return cancelled;
  for (ActorCall& call : running_) {
    if (!call.cancelled || call.told) continue;
    call.told = true;
    cancelled.push_back(&call);
  }
  return cancelled;
}

// ---- The backup thread ----

void ActorLoop::node_gone() {
  MutexLock lock(mutex_);
  stop_ = true;
  // The answer of a running call would reach no client, and no effect of it may outlive the node.
  if (!running_.empty()) ::_exit(1);
  wake();
  calls_changed_.notify_all();
  items_taken_.notify_all();
}

client::DutyPlan ActorLoop::look() {
  client::DutyPlan plan;
  if (client_.call_waits().is_time_to_look()) look_for_rest();
  MutexLock lock(mutex_);
  check_descriptors();
  const std::uint64_t now = os::monotonic_ns();
  plan.streams = begin_rate_.streams(begun_, now);
  slow_watch_.looked(now);
  if (running_.empty()) slow_watch_.disarm();  // a thread of the calls reads
  if (!running_.empty() && now - running_.back().started_ns < std::min(patience_ns_, kSlowNs)) {
    plan.look_at(time_of(running_.back().started_ns + patience_ns_));
    return plan;
  }
  // The running call is slow: read cancels and send finished answers, also those to cancelled calls.
  const bool reads = !running_.empty() && mode_ != Mode::kEventLoop && !reader_busy_;
  if (reads) read_ready(0);
  callers_.flush_all();
  if (cancels_started_) cancel_started();
  if (!reads) return plan;
  if (!inbox_.empty() && sleepers_ > 0) calls_changed_.notify_one();
  slow_watch_.arm(epoll_.get(), EPOLLIN);
  return plan;
}

void ActorLoop::look_for_rest() {
  std::vector<client::RunningCall> calls;
  std::deque<std::string> names;
  {
    MutexLock lock(mutex_);
    for (const ActorCall& call : running_) {
      calls.push_back({call.task.client, call.task.number, names.emplace_back(call.task.name)});
    }
  }
  if (mode_ == Mode::kEventLoop) {  // a loop that is not blocked checks its calls itself
    client_.call_waits().look_for_blocked_loop(calls);
  } else {
    client_.call_waits().look_for_resting(calls);
  }
}

// If user code has closed the descriptor of the event loop, the loop would wait for calls forever.
void ActorLoop::check_descriptors() {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeId;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, wake_.get(), &event) != 0 && errno != ENOMEM) end_without_descriptors();
}

// ---- Blocking in get and wait: an actor keeps what it has ----

void ActorLoop::blocked() {
  {
    MutexLock lock(mutex_);
    callers_.flush_all();
  }
  page_.blocked(true);
}

void ActorLoop::unblocked() { page_.blocked(false); }

bool ActorLoop::flush_answers() {
  MutexLock lock(mutex_);
  callers_.flush_all();
  return !callers_.have_output();
}

void ActorLoop::abandon() { callers_.close_all(); }

}  // namespace fray::worker
