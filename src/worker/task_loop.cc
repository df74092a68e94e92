#include "worker/task_loop.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/amount_text.h"
#include "os/clock.h"
#include "wire/function_payload.h"
#include "worker/pacing.h"

namespace fray::worker {

namespace {

constexpr std::uint64_t kTimeoutGraceNs = 2 * kSecondNs;     // from the interrupt to the end of the process
constexpr std::uint64_t kFirstPatienceNs = kSecondNs / 100;  // with a task that has not seen its interrupt
constexpr std::uint64_t kLongestPatienceNs = kSecondNs;
constexpr std::chrono::nanoseconds kIdleWindow{IdleWatch::kWindowNs};
constexpr std::chrono::milliseconds kIdleLook{100};  // between checks whether an idle process computes again
constexpr std::uint64_t kMayMaskNs = 5'000;          // a longer task has its signal mask checked before the next task

std::uint64_t cpu_ns_of_process() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * kSecondNs + static_cast<std::uint64_t>(used.tv_nsec);
}

}  // namespace

Status too_large(std::string_view what, std::uint64_t bytes, std::uint64_t most_bytes) {
  return Status(
      StatusCode::kInvalidArgument,
      fmt::format("{} {}, and at most {} may travel in one message, beside arrays and other values of more than "
                  "8.0 KiB each; return less, or put it into the store and return the ref",
                  what, bytes_text(bytes), bytes_text(most_bytes)));
}

void Outcome::keep_within(std::uint64_t most_bytes) {
  if (bytes.size() <= most_bytes) return;
  const bool raised = status == wire::TaskStatus::kFailed;
  const Status why =
      too_large(raised ? "the exception that the task raised is" : "the results are", bytes.size(), most_bytes);
  wire::Value failure;
  failure.encoding = wire::Encoding::kStatus;
  failure.bytes = std::string(1, static_cast<char>(why.code())) + why.message();
  status = wire::TaskStatus::kFailed;
  values = 1;
  bytes.clear();
  wire::ByteWriter out(bytes);
  wire::encode(out, failure);
}

void end_without_descriptors() {
  std::fputs("a task has closed descriptors of its worker, which ends; close only those that the task has opened\n",
             stderr);
  ::_exit(1);
}

TaskLoop::TaskLoop(client::Client& client, Executor& executor, Page& page)
    : client_(client), executor_(executor), page_(page) {}

void TaskLoop::run() {
  ::pthread_sigmask(SIG_SETMASK, nullptr, &signal_mask_);
  client_.set_duty(this);
  while (wait_for_lease()) serve();
}

// ---- Leases ----

void TaskLoop::lease_arrived(LeaseId, ProcessId client, double cpus, os::Fd fd) {
  MutexLock lock(mutex_);
  offers_.push_back({client, cpus, std::move(fd)});
  lease_changed_.notify_all();
}

void TaskLoop::actor_arrived(wire::HostActor actor) {
  MutexLock lock(mutex_);
  actor_ = std::move(actor);
  lease_changed_.notify_all();
}

std::optional<wire::HostActor> TaskLoop::take_actor() {
  MutexLock lock(mutex_);
  return std::exchange(actor_, std::nullopt);
}

void TaskLoop::devices_bound(const wire::BindDevices& binding) {
  MutexLock lock(mutex_);
  binding_ = binding;
}

void TaskLoop::node_gone() {
  MutexLock lock(mutex_);
  stop_ = true;
  // The answer of a running task would reach no client, and no effect of it may outlive the node.
  if (running_ != 0) ::_exit(1);
  if (connected_) ::shutdown(socket_.fd(), SHUT_RDWR);
  lease_changed_.notify_all();
}

bool TaskLoop::wait_for_lease() {
  MutexLock lock(mutex_);
  if (retiring_) return false;
  if (offers_.empty() && !stop_ && !actor_) {
    lock.unlock();
    executor_.before_sleep();
    lock.lock();
    lease_changed_.wait(lock, [this]() FRAY_REQUIRES(mutex_) { return stop_ || actor_ || !offers_.empty(); });
    lock.unlock();
    executor_.after_sleep();
    lock.lock();
  }
  if (stop_) return false;
  if (std::optional<wire::BindDevices> binding = std::exchange(binding_, std::nullopt)) {
    lock.unlock();
    executor_.bind(*binding);
    lock.lock();
  }
  if (actor_) return false;
  Offer offer = std::move(offers_.front());
  offers_.pop_front();
  page_.leased();
  if (!offer.fd.is_open()) {
    lock.unlock();
    give_up();
    return false;
  }
  leased_to_ = offer.client;
  socket_ = wire::FrameSocket(std::move(offer.fd));
  connected_ = true;
  inbox_.clear();
  begun_before_lease_ = begun_;
  lock.unlock();
  executor_.leased(offer.cpus);
  return true;
}

// No descriptor was free for the lease, because tasks have opened and kept too many. This process ends, and the tasks
// that were sent to it start in a fresh one, which has free descriptors.
void TaskLoop::give_up() {
  std::fputs("this worker has no descriptors left for another task and ends; a new one takes its place\n", stderr);
  client_.say(wire::ControlType::kRetiring);
}

void TaskLoop::serve() {
  for (Frame frame; next_frame(&frame); frame = Frame()) {  // so that no large frame is kept while nothing runs
    switch (static_cast<wire::DirectType>(frame.header.type)) {
      case wire::DirectType::kFunction:
        drop(functions_.give(frame.header.id, wire::function_bytes(frame.body)));
        executor_.define(frame.header.id, frame.body);
        break;
      case wire::DirectType::kForget:
        drop(functions_.forget(frame.header.id));
        break;
      default:
        run_task(frame);
    }
  }
  functions_.lease_ended();
  MutexLock lock(mutex_);
  slow_watch_.disarm();
  connected_ = false;
  socket_.close();
  inbox_.clear();
}

void TaskLoop::drop(const std::vector<std::uint64_t>& functions) {
  for (std::uint64_t function : functions) {
    executor_.forget(function);
    meter_.forget(function);
  }
}

// ---- Reading ----

bool TaskLoop::next_frame(Frame* frame) {
  MutexLock lock(mutex_);
  std::uint64_t spin_until = 0;
  while (true) {
    if (stop_) return false;
    if (!inbox_.empty()) {
      *frame = std::move(inbox_.front());
      inbox_.pop_front();
      return true;
    }
    if (retiring_) {
      flush();
      return false;
    }
    slow_watch_.disarm();  // which a task left that was slow from its beginning
    // Read before answering: the results of tasks that have arrived already are written together.
    if (!read_socket()) return false;
    if (!inbox_.empty() && socket_.output_bytes() < kFlushBytes) continue;
    flush();
    if (!inbox_.empty()) continue;
    std::uint64_t now = os::monotonic_ns();
    if (spin_until == 0) {
      spin_until = now + kSpinNs;
      restore_signal_mask();  // no client waits for the time this takes
    }
    if (now < spin_until && !crowd_.wants_cpu(now)) {
      lock.unlock();
      crowd_.yield(now);
      lock.lock();
      continue;
    }
    slow_watch_.rest();
    pollfd set{socket_.fd(), static_cast<short>(socket_.has_output() ? POLLIN | POLLOUT : POLLIN), 0};
    lock.unlock();
    executor_.before_sleep();
    ::poll(&set, 1, -1);
    executor_.after_sleep();
    lock.lock();
    spin_until = 0;
  }
}

bool TaskLoop::read_socket() {
  if (!connected_) return false;
  Status read = socket_.fill();
  wire::Incoming incoming;
  while (true) {
    Result<bool> more = socket_.next(&incoming);
    if (!more.is_ok()) return false;
    if (!more.value()) break;
    sort_frame(incoming);
  }
  if (!read.is_ok() && read.code() != StatusCode::kUnavailable) end_without_descriptors();
  return read.is_ok();
}

// Tasks and functions are queued for the task thread; other frames are handled at once.
void TaskLoop::sort_frame(wire::Incoming& incoming) {
  switch (static_cast<wire::DirectType>(incoming.header.type)) {
    case wire::DirectType::kTask:
      inbox_.push_back({incoming.header, socket_.take_body(incoming)});
      if (task_blocked_) return_unstarted(wire::ReturnReason::kBlocked);
      return;
    case wire::DirectType::kFunction:
    case wire::DirectType::kForget:
      inbox_.push_back({incoming.header, socket_.take_body(incoming)});
      return;
    case wire::DirectType::kCancel:
      if (incoming.header.id == running_) {
        cancels_started_ = !incoming.body.empty();
        return interrupt(Interrupt::kCancelled);
      }
      for (auto it = inbox_.begin(); it != inbox_.end(); ++it) {
        if (it->header.type != static_cast<std::uint8_t>(wire::DirectType::kTask) ||
            it->header.id != incoming.header.id) {
          continue;
        }
        inbox_.erase(it);
        wire::ResultHead head;
        head.status = wire::TaskStatus::kCancelled;
        wire::append_result(socket_.output(), incoming.header.id, head);
        flush();
        return;
      }
      return;
    case wire::DirectType::kRecall:
      return_unstarted(wire::ReturnReason::kRecalled);
      return;
    case wire::DirectType::kTaken: {
      if (incoming.header.id != running_) return;
      wire::ByteReader in(incoming.body);
      untaken_.taken(in.get<std::uint64_t>());
      items_taken_.notify_all();
      return;
    }
    default:
      return;
  }
}

// Of a lease that has run nothing yet the first task stays, and begins next. A lease may be asked back as soon as it is
// granted, and the recall be read together with the first tasks. Clients that take turns with one CPU would otherwise
// hand it round for ever.
void TaskLoop::return_unstarted(wire::ReturnReason reason) {
  std::vector<std::uint64_t> tasks;
  std::deque<Frame> kept;
  bool keeps_next = reason == wire::ReturnReason::kRecalled && begun_ == begun_before_lease_;
  for (Frame& frame : inbox_) {
    const bool is_task = frame.header.type == static_cast<std::uint8_t>(wire::DirectType::kTask);
    if (is_task && !keeps_next) {
      tasks.push_back(frame.header.id);
      continue;
    }
    if (is_task) keeps_next = false;
    kept.push_back(std::move(frame));
  }
  inbox_ = std::move(kept);
  wire::append_frame(socket_.output(), wire::DirectType::kReturned, 0,
                     wire::encoded(wire::Returned{reason, std::move(tasks)}));
  flush();
}

void TaskLoop::flush() {
  if (connected_ && socket_.has_output()) [[maybe_unused]]
    bool sent = socket_.flush().is_ok();
}

// ---- Running ----

void TaskLoop::run_task(const Frame& frame) {
  wire::ByteReader in(frame.body);
  TaskView task;
  task.number = frame.header.id;
  task.client = leased_to_;
  task.read(in);
  const std::uint64_t started = os::monotonic_ns();
  meter_.begin(task.head.function);
  if (begin(task, started)) client_.guard();
  page_.started(task, task.name, started);
  Outcome outcome;
  if (in.ok()) {
    client::Submission::set_depth(task.head.depth + 1);
    client::Client::set_call({task.client, task.number, task.name});
    executor_.run(task, &outcome);
    if (waits_) unblocked();  // an exception has kept the task from saying so
    client::Client::set_call({});
  } else {
    outcome.status = wire::TaskStatus::kFailed;
  }
  page_.ended();
  const std::uint64_t duration = os::monotonic_ns() - started;
  const TaskCost cost = meter_.end(duration);
  outcome.keep_within(wire::most_body_bytes(client_.node().store_limit_bytes));
  // Holds on objects in the arguments, and records of objects in the results, must reach the node before the answer
  // does.
  if (outcome.retire) client_.say(wire::ControlType::kRetiring);
  const std::uint64_t next_started = client_.task_ended();
  if (duration > kMayMaskNs) restore_signal_mask();
  MutexLock lock(mutex_);
  running_ = 0;
  first_started_ = next_started;
  if (idle_) {
    lock.unlock();
    set_idle(false);
    lock.lock();
  }
  if (outcome.retire) retiring_ = true;
  answer(task.number, started, duration, cost, outcome);
  if (retiring_) return_unstarted(wire::ReturnReason::kRetiring);
}

bool TaskLoop::begin(const TaskView& task, std::uint64_t now) {
  MutexLock lock(mutex_);
  const bool is_timed = task.head.timeout_seconds > 0;
  const bool alone = inbox_.empty() && !socket_.has_output();
  patience_ns_ = is_timed ? kSlowNs : meter_.is_slow() ? 0 : alone && meter_.is_short() ? kPatienceNs : kSlowNs;
  ++begun_;
  running_ = task.number;
  running_name_ = task.name;
  started_ns_ = now;
  timeout_seconds_ = task.head.timeout_seconds;
  interrupt_ = Interrupt::kNone;
  cancels_started_ = false;
  untaken_ = {};
  held_ns_ = held_since_ns_ = 0;
  was_held_ = false;
  if (patience_ns_ == 0) {
    flush();
    watch_socket();
  } else {
    slow_watch_.disarm();
    if (patience_ns_ > kSlowNs) slow_watch_.begin_patiently(now);
  }
  return patience_ns_ == kSlowNs;
}

void TaskLoop::answer(std::uint64_t task, std::uint64_t started, std::uint64_t duration, const TaskCost& cost,
                      const Outcome& outcome) {
  wire::ResultHead head;
  head.started_ns = started;
  head.duration_ns = duration;
  head.cpu_ns = cost.cpu_ns;
  head.peak_memory_bytes = cost.peak_memory_bytes;
  head.bytes_in = outcome.bytes_in;
  head.bytes_out = outcome.bytes_out;
  head.status = outcome.status;
  head.retiring = outcome.retire ? 1 : 0;
  head.values = outcome.values;
  wire::append_result(socket_.output(), task, head, outcome.bytes);
}

TaskLoop::Interrupt TaskLoop::interrupted() {
  MutexLock lock(mutex_);
  if (running_ == 0) return Interrupt::kNone;
  interrupt_seen_ = interrupt_ != Interrupt::kNone;
  return interrupt_;
}

void TaskLoop::interrupt(Interrupt why) {
  interrupt_ = why;
  interrupted_at_ns_ = os::monotonic_ns();
  interrupt_seen_ = false;
  end_system_call_at_ns_ = interrupted_at_ns_ + kFirstPatienceNs;
  executor_.interrupt();
  client_.ask_waiters();
  items_taken_.notify_all();
}

void TaskLoop::hold_timeout(bool held) {
  {
    MutexLock lock(mutex_);
    if (held_since_ns_ != 0) held_ns_ += os::monotonic_ns() - held_since_ns_;
    held_since_ns_ = held ? os::monotonic_ns() : 0;
    was_held_ = was_held_ || held;
  }
  client_.guard();  // the backup thread watches the timeout again
}

bool TaskLoop::send_item(const TaskView& task, std::uint32_t index, std::string_view value, std::uint64_t value_bytes) {
  client_.flush_link();  // records of objects in the item must arrive first
  MutexLock lock(mutex_);
  wire::append_item(socket_.output(), task.number, index, value);
  flush();
  untaken_.sent(value_bytes);
  auto may_go_on = [&]() FRAY_REQUIRES(mutex_) {
    return untaken_.leaves_room(task.head) || interrupt_ != Interrupt::kNone || stop_;
  };
  if (!may_go_on()) {
    lock.unlock();
    executor_.before_sleep();
    lock.lock();
    while (!may_go_on()) items_taken_.wait_until(lock, client::Clock::now() + kLongSleep);
    lock.unlock();
    executor_.after_sleep();
    lock.lock();
  }
  return interrupt_ == Interrupt::kNone && !stop_;
}

// ---- The backup thread ----

client::DutyPlan TaskLoop::look() {
  client::DutyPlan plan;
  watch_side_waits(&plan);
  MutexLock lock(mutex_);
  const std::uint64_t now = os::monotonic_ns();
  plan.streams = begin_rate_.streams(begun_, now);
  slow_watch_.looked(now);
  if (running_ == 0) {
    slow_watch_.disarm();  // the task thread reads
    return plan;
  }
  if (now - started_ns_ < std::min(patience_ns_, kSlowNs)) {
    plan.look_at(time_of(started_ns_ + patience_ns_));
    return plan;
  }
  if (connected_) look_at_slow();
  if (must_end(now)) {
    lock.unlock();
    client_.say(wire::ControlType::kRetiring);
    ::_exit(1);
  }
  if (std::exchange(cancels_started_, false)) {
    cancel_started();
    if (running_ == 0) return plan;
  }
  plan.look_at(timeout_due());
  follow_interrupt(now, &plan);
  return plan;
}

// Until the task has seen that it is interrupted: each time after twice as long.
void TaskLoop::follow_interrupt(std::uint64_t now, client::DutyPlan* plan) {
  if (interrupt_ == Interrupt::kNone || interrupt_seen_) return;
  if (now >= end_system_call_at_ns_) {
    executor_.end_system_call();
    end_system_call_at_ns_ = now + std::min(now - interrupted_at_ns_, kLongestPatienceNs);
  }
  plan->look_at(time_of(end_system_call_at_ns_));
}

// Called while the running task is slow; nothing here may wait for its end.
void TaskLoop::look_at_slow() {
  flush();
  if (read_socket()) return watch_socket();
  // The client has ended, so the node ends this process. A task that only waits until its items are taken ends at once.
  slow_watch_.disarm();
  interrupt_ = Interrupt::kCancelled;
  client_.ask_waiters();
  items_taken_.notify_all();
}

void TaskLoop::watch_socket() {
  if (connected_) slow_watch_.arm(socket_.fd(), socket_.has_output() ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

// When must_end() has something to do; TimePoint::max() for never.
client::DutyPlan::TimePoint TaskLoop::timeout_due() const {
  constexpr double kForeverNs = 1e18;
  if (timeout_seconds_ <= 0 || held_since_ns_ != 0) return client::DutyPlan::TimePoint::max();
  if (interrupt_ == Interrupt::kTimedOut) return time_of(interrupted_at_ns_ + kTimeoutGraceNs);
  if (interrupt_ != Interrupt::kNone) return client::DutyPlan::TimePoint::max();
  const auto allowed_ns = static_cast<std::uint64_t>(std::min(timeout_seconds_ * 1e9, kForeverNs));
  return time_of(started_ns_ + held_ns_ + allowed_ns + 1);
}

// Cancels the tasks that the running task has submitted. That task may end meanwhile; tasks of the next one stay.
void TaskLoop::cancel_started() {
  const std::uint64_t first = first_started_;
  const std::uint64_t task_started_ns = started_ns_;
  mutex_.unlock();
  std::uint64_t end = client_.tasks().next_number();
  mutex_.lock();
  if (running_ == 0 || started_ns_ != task_started_ns) end = std::min(end, first_started_);
  mutex_.unlock();
  client_.tasks().cancel_between(first, end);
  mutex_.lock();
}

// Interrupts a task that is past its timeout. True when the task did not react and the process has to end: nothing else
// stops a thread that does not return to its interpreter.
bool TaskLoop::must_end(std::uint64_t now) {
  if (timeout_seconds_ <= 0) return false;
  if (held_since_ns_ != 0) return false;
  if (static_cast<double>(now - started_ns_) - static_cast<double>(held_ns_) < timeout_seconds_ * 1e9) return false;
  if (interrupt_ == Interrupt::kNone) {
    interrupt(Interrupt::kTimedOut);
    return false;
  }
  if (interrupt_ != Interrupt::kTimedOut || now - interrupted_at_ns_ < kTimeoutGraceNs) return false;
  wire::ResultHead head;
  head.started_ns = started_ns_;
  head.duration_ns = now - started_ns_;
  head.status = wire::TaskStatus::kTimedOut;
  head.retiring = 1;
  wire::append_result(socket_.output(), running_, head);
  return_unstarted(wire::ReturnReason::kRetiring);
  return true;
}

// A task may have left signals blocked, among them the one that interrupts later tasks.
void TaskLoop::restore_signal_mask() const { ::pthread_sigmask(SIG_SETMASK, &signal_mask_, nullptr); }

// ---- Blocking in get and wait ----

void TaskLoop::blocked() {
  MutexLock turn(turns_);
  if (!waits_ && !idle_) give_way();
  waits_ = true;
}

void TaskLoop::unblocked() {
  MutexLock turn(turns_);
  if (!waits_) return;
  waits_ = idle_ = false;
  go_on();
}

// Watches waits of threads and event loops other than the task's own thread.
void TaskLoop::watch_side_waits(client::DutyPlan* plan) {
  const client::SideWaits::Count waits = client_.side_waits();
  if (waits.lasting == 0) {
    watches_ = false;
    if (idle_) set_idle(false);
    return;
  }
  const std::uint64_t now = os::monotonic_ns();
  const std::uint64_t cpu = cpu_ns_of_process();
  if (!std::exchange(watches_, true)) {
    idle_watch_.restart(now, cpu);
  } else if (waits.ended != seen_ends_) {
    idle_watch_.look_again(now, cpu);
  }
  seen_ends_ = waits.ended;
  const bool idle = idle_watch_.look(now, cpu);
  if (idle != idle_) set_idle(idle);
  if (idle) look_for_rest();
  plan->look_at(client::Clock::now() + (idle_watch_.is_undecided() ? kIdleWindow : kIdleLook));
}

void TaskLoop::look_for_rest() {
  if (!client_.call_waits().is_time_to_look()) return;
  client::RunningCall call;
  std::string name;
  {
    MutexLock lock(mutex_);
    if (running_ == 0) return;
    name = running_name_;
    call = {leased_to_, running_, name};
  }
  client_.call_waits().look_for_resting({&call, 1});
}

void TaskLoop::set_idle(bool idle) {
  MutexLock turn(turns_);
  if (idle == idle_) return;
  if (idle) {
    MutexLock lock(mutex_);
    if (running_ == 0) return;  // the task has ended meanwhile
  }
  idle_ = idle;
  if (waits_) return;  // the task's own thread waits, too
  idle ? give_way() : go_on();
}

// Gives the CPU back, and returns the tasks that wait behind this one.
void TaskLoop::give_way() {
  {
    MutexLock lock(mutex_);
    if (running_ == 0) return;
    task_blocked_ = true;
    read_socket();
    return_unstarted(wire::ReturnReason::kBlocked);
    // The task may end before the backup thread looks, and with it what is known of the tasks that it has started.
    if (std::exchange(cancels_started_, false)) cancel_started();
  }
  page_.blocked(true);
  client_.say(wire::ControlType::kBlocked);
}

bool TaskLoop::flush_answers() {
  MutexLock lock(mutex_);
  flush();
  return !socket_.has_output();
}

void TaskLoop::go_on() {
  client_.say(wire::ControlType::kUnblocked);
  page_.blocked(false);
  MutexLock lock(mutex_);
  if (!task_blocked_) return;
  task_blocked_ = false;
  if (!connected_) return;
  wire::append_frame(socket_.output(), wire::DirectType::kUnblocked, 0);
  flush();
}

}  // namespace fray::worker
