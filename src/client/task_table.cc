#include "client/task_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "client/actor_table.h"
#include "wire/exit_text.h"
#include "wire/failure.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kDeepest = 128;               // tasks sent to one worker and not answered
constexpr std::uint64_t kQueuedWorkNs = 5'000'000;  // about so much work may wait behind a running task
constexpr std::uint32_t kFlushFrames = 32;
constexpr auto kPause = 50ms;             // after a grant that could not be used
constexpr auto kStealAfter = 2ms;         // a worker silent for so long gives up what it has not started
constexpr std::size_t kWorthSharing = 8;  // fewer short tasks are done before another worker has them

std::size_t depth_for(std::uint64_t mean_ns) {
  if (mean_ns == 0) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(kQueuedWorkNs / mean_ns), 1, kDeepest);
}

void learn(Function& function, std::uint64_t duration_ns) {
  std::uint64_t seen = std::max<std::uint64_t>(duration_ns, 1);
  function.mean_ns = function.mean_ns == 0 ? seen : (function.mean_ns * 3 + seen) / 4;
}

wire::TaskHead* head_of(Task* task) { return reinterpret_cast<wire::TaskHead*>(task->frame.data() + kHeadOffset); }

}  // namespace

TaskTable::TaskTable(NodeLink& link, ObjectTable& objects, Timeline& timeline, std::function<void(Object*)> ready)
    : link_(link), objects_(objects), timeline_(timeline), ready_(std::move(ready)) {}

TaskTable::~TaskTable() = default;

TaskQueue* TaskTable::known_queue(const ResourceSet& resources, std::uint32_t key, std::uint32_t depth) {
  TaskQueue* last = last_queue_;
  if (last != nullptr && last->key == key && last->depth == depth && last->resources == resources) return last;
  auto found = queues_.find({resources, key, depth});
  return found != queues_.end() ? last_queue_ = found->second.get() : nullptr;
}

TaskQueue* TaskTable::queue(const ResourceSet& resources, std::uint32_t key, std::uint32_t depth) {
  if (TaskQueue* known = known_queue(resources, key, depth)) return known;
  auto& slot = queues_[{resources, key, depth}];
  slot = std::make_unique<TaskQueue>();
  slot->number = static_cast<std::uint32_t>(by_number_.size());
  slot->key = key;
  slot->depth = depth;
  slot->resources = resources;
  double cpus = resources.amount("CPU");
  double at_once = cpus > 0 ? std::max(1.0, std::floor(limits_.total_cpus / cpus)) : limits_.max_workers;
  slot->most_leases = static_cast<std::uint32_t>(std::min<double>(at_once, limits_.max_workers));
  by_number_.push_back(slot.get());
  return slot.get();
}

// ---- Submission ----

void TaskTable::submit(Task* task) {
  task->next = first_task_;
  if (first_task_ != nullptr) first_task_->previous = task;
  first_task_ = task;
  ++unfinished_;
  if (task->extra) {
    for (ArgumentPart& part : task->extra->parts) {
      if (part.object->is_ready()) continue;
      ++task->missing;
      part.object->details().dependents.push_back(task);
      objects_.want(part.object);
    }
  }
  if (task->missing == 0) enqueue(task, false);
}

void TaskTable::argument_ready(Object* object) {
  std::vector<Task*> dependents = std::move(object->detail->dependents);
  object->detail->dependents.clear();
  for (Task* task : dependents) {
    if (--task->missing == 0) enqueue(task, false);
  }
}

// The value of a generator task is the list of its items; it travels as refs to them.
wire::Value TaskTable::items_to_wire(Object* stream, Task* task) {
  wire::Value value;
  value.encoding = wire::Encoding::kItems;
  for (Object* item : stream->detail->stream->items) {
    retain(item);
    task->extra->held.push_back(item);
    value.nested.push_back(item->id);
  }
  return value;
}

// Joins the argument parts into one frame. A failed argument fails the task with the same failure.
bool TaskTable::build_frame(Task* task) {
  for (ArgumentPart& part : task->extra->parts) {
    if (!part.object->failed()) continue;
    wire::ValueView failure;
    failure.encoding = part.object->encoding;
    failure.bytes = part.object->bytes;
    retain(part.object);
    Object* failed = part.object;
    complete(task->first_result, failure);
    for (Object* result : task->extra->more_results) complete(result, failure);
    finish(task);
    if (failed->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(failed);
    return false;
  }
  std::string whole;
  wire::ByteWriter out(whole);
  for (ArgumentPart& part : task->extra->parts) {
    whole += part.before;
    if (part.object->sealed) objects_.share(part.object);
    wire::encode(out, part.object->stream ? items_to_wire(part.object, task) : objects_.to_wire(part.object));
    task->extra->held.push_back(part.object);
  }
  task->extra->parts.clear();
  whole += task->frame;
  task->frame = std::move(whole);
  return true;
}

void TaskTable::enqueue(Task* task, bool front) {
  if (task->extra && !task->extra->parts.empty() && !build_frame(task)) return;
  if (task->state == Task::State::kWaiting) {
    if (task->extra) {
      for (Object* held : task->extra->held) objects_.share(held);
    }
    wire::finish_frame(task->frame, 0);
  }
  task->state = Task::State::kQueued;
  task->lease = nullptr;
  if (task->actor != nullptr) return actors_->call_ready(task);
  TaskQueue* queue = task->queue;
  if (front) {
    queue->ready.push_front(task);
  } else {
    queue->ready.push_back(task);
    dispatch(queue);
  }
}

// ---- Sending ----

std::size_t TaskTable::room(const Lease& lease, const Task& next) const {
  if (lease.idle()) return 1;
  if (lease.stalled) return 0;
  std::uint64_t before = lease.sent.back()->function->mean_ns;
  if (before == 0 || next.function->mean_ns == 0) return 0;
  std::size_t depth = depth_for(std::max(before, next.function->mean_ns));
  return depth > lease.sent.size() ? depth - lease.sent.size() : 0;
}

void TaskTable::dispatch(TaskQueue* queue) {
  while (!queue->ready.empty()) {
    Task* task = queue->ready.front();
    Lease* best = nullptr;
    for (Lease* lease : queue->leases) {
      if (!lease->usable() || room(*lease, *task) == 0) continue;
      if (best == nullptr || lease->sent.size() < best->sent.size()) best = lease;
    }
    if (best == nullptr) break;
    queue->ready.pop_front();
    bool was_idle = best->idle();
    send(best, task);
    if (was_idle || best->buffered >= kFlushFrames) send_out(best);
  }
  tell_demand(queue);
}

void TaskTable::send(Lease* lease, Task* task) {
  const Function& function = *task->function;
  if (lease->actor == nullptr && lease->last_function != function.id) {
    lease->last_function = function.id;
    if (lease->functions.insert(function.id).second) {
      wire::append_frame(lease->socket.output(), wire::DirectType::kFunction, function.id, function.payload);
    }
  }
  head_of(task)->attempt = task->attempt;
  head_of(task)->may_retry = task->retries_left != 0 ? 1 : 0;
  lease->socket.output().append(task->frame);
  if (lease->buffered++ == 0) unflushed_.push_back(lease);
  if (lease->idle()) lease->last_answer = Clock::now();
  lease->sent.push_back(task);
  task->state = Task::State::kSent;
  task->lease = lease;
}

// False when something had to stay back; the next tick or POLLOUT tries again.
bool TaskTable::send_out(Lease* lease) {
  if (lease->dead) return true;
  // What frames refer to must be registered before they arrive.
  if (link_.is_open() && link_.has_output()) {
    link_.flush();
    if (link_.has_output()) return false;
  }
  Status sent = lease->socket.flush();
  if (!sent.is_ok()) {
    lease_ended(lease);
    return true;
  }
  lease->buffered = 0;
  return !lease->socket.has_output();
}

void TaskTable::flush() {
  std::vector<Lease*> leases = std::move(unflushed_);
  unflushed_.clear();
  for (Lease* lease : leases) {
    if (!send_out(lease)) unflushed_.push_back(lease);
  }
  link_.flush();
}

void TaskTable::send_call(Lease* connection, Task* call) {
  bool was_idle = connection->idle();
  send(connection, call);
  if (was_idle || connection->buffered >= kFlushFrames) send_out(connection);
}

void TaskTable::tell_demand(TaskQueue* queue) {
  std::uint32_t active = 0;
  std::size_t waiting = queue->ready.size();
  for (Lease* lease : queue->leases) {
    if (!lease->usable()) continue;
    ++active;
    if (!lease->sent.empty()) waiting += lease->sent.size() - 1;
  }
  std::uint32_t more = active >= queue->most_leases ? 0 : queue->most_leases - active;
  if (queue->ready.empty() && waiting < kWorthSharing)
    waiting = 0;  // a few short tasks behind running ones need no further worker
  auto count = static_cast<std::uint32_t>(std::min<std::size_t>(waiting, more));
  if (queue->pause_until && Clock::now() < *queue->pause_until) count = 0;
  if (count == queue->told) return;
  queue->told = count;
  wire::Demand message;
  message.demand = queue->number;
  message.key = queue->key;
  message.depth = queue->depth;
  message.count = count;
  message.resources = queue->resources;
  link_.send(wire::ControlType::kDemand, 0, message);
  link_.flush();
}

// ---- Leases ----

void TaskTable::granted(LeaseId id, const wire::Grant& grant, os::Fd fd) {
  if (grant.demand >= by_number_.size()) {
    link_.send(wire::ControlType::kReturnLease, id);
    return;
  }
  TaskQueue* queue = by_number_[grant.demand];
  queue->told = kUnknownDemand;  // the grant may have crossed our last word on the road
  if (!fd.is_open()) {           // no descriptor was free for it: try again when some may be
    link_.send(wire::ControlType::kReturnLease, id);
    queue->pause_until = Clock::now() + kPause;
    return tell_demand(queue);
  }
  auto lease = std::make_unique<Lease>();
  lease->id = id;
  lease->worker = grant.worker;
  lease->pid = grant.pid;
  lease->queue = queue;
  lease->socket = wire::FrameSocket(std::move(fd));
  lease->idle_since = Clock::now();
  lease->last_answer = lease->idle_since;
  queue->leases.push_back(lease.get());
  open_leases_.push_back(lease.get());
  leases_.emplace(id, std::move(lease));
  dispatch(queue);
  balance(queue, Clock::now());
}

void TaskTable::give_back(Lease* lease) {
  link_.send(wire::ControlType::kReturnLease, lease->id);
  link_.flush();
  drop_lease(lease);
}

void TaskTable::drop_lease(Lease* lease) {
  std::erase(lease->queue->leases, lease);
  if (lease->queue->leases.empty()) lease->queue->owed = 0;
  std::erase(open_leases_, lease);
  std::erase(unflushed_, lease);
  leases_.erase(lease->id);
}

void TaskTable::close_connection(Lease* connection) {
  std::erase(open_leases_, connection);
  std::erase(unflushed_, connection);
}

void TaskTable::reclaim(std::uint32_t demand, std::uint32_t count) {
  if (demand >= by_number_.size()) return;
  by_number_[demand]->owed += count;
  pay(by_number_[demand]);
}

// Gives back what was asked for: idle leases at once, busy ones when what was sent to them is done. What cannot be given
// now, because every lease is blocked, stays owed.
void TaskTable::pay(TaskQueue* queue) {
  while (queue->owed > 0) {
    Lease* chosen = nullptr;
    for (Lease* lease : queue->leases) {
      if (!lease->usable()) continue;
      if (chosen == nullptr || lease->sent.size() < chosen->sent.size()) chosen = lease;
    }
    if (chosen == nullptr) return;
    --queue->owed;
    if (chosen->idle()) {
      give_back(chosen);
      continue;
    }
    chosen->draining = true;
    if (chosen->sent.size() > 1) {
      wire::append_frame(chosen->socket.output(), wire::DirectType::kRecall, 0);
      send_out(chosen);
    }
  }
}

// Takes back what waits behind a slow task when somebody else could run it: a worker that is idle, or one that the node
// may still grant.
void TaskTable::balance(TaskQueue* queue, Clock::time_point now) {
  if (!queue->ready.empty()) return;
  std::uint32_t usable = 0;
  bool idle = false;
  for (Lease* lease : queue->leases) {
    usable += lease->usable();
    idle = idle || (lease->usable() && lease->idle());
  }
  if (!idle && usable >= queue->most_leases) return;
  std::vector<Lease*> leases = queue->leases;
  for (Lease* lease : leases) {
    if (lease->recalled || lease->dead || lease->blocked || lease->sent.size() < 2) continue;
    lease->stalled = now - lease->last_answer >= kStealAfter;
    if (!lease->stalled && (!idle || lease->sent.size() < kWorthSharing)) continue;
    lease->recalled = true;
    wire::append_frame(lease->socket.output(), wire::DirectType::kRecall, 0);
    send_out(lease);
  }
}

void TaskTable::tick(Clock::time_point now, bool closing) {
  flush();
  for (TaskQueue* queue : by_number_) {
    if (!queue->pause_until || now < *queue->pause_until) continue;
    queue->pause_until.reset();
    tell_demand(queue);
  }
  std::vector<Lease*> leases = open_leases_;
  for (Lease* lease : leases) {
    if (lease->dead || lease->blocked || lease->actor != nullptr) continue;
    if (!lease->idle()) {
      if (lease->sent.size() > 1) balance(lease->queue, now);
      continue;
    }
    if (lease->draining || closing || now - lease->idle_since >= limits_.keep_idle) give_back(lease);
  }
}

// ---- Answers ----

void TaskTable::receive(Lease* lease) {
  if (lease->dead) return;
  LeaseId id = lease->id;
  Status read = lease->socket.fill();
  wire::Incoming frame;
  bool answered = false;
  while (true) {
    Result<bool> more = lease->socket.next(&frame);
    if (!more.is_ok()) {
      read = more.status();
      break;
    }
    if (!more.value()) break;
    handle(lease, frame);
    answered = true;
    if (frame.header.type == static_cast<std::uint8_t>(wire::DirectType::kResult)) lease->stalled = false;
  }
  if (lease->actor != nullptr) {
    if (!read.is_ok()) lease_ended(lease);
    return actors_->answered(lease);
  }
  if (answered) lease->last_answer = Clock::now();
  if (!read.is_ok()) {
    lease_ended(lease);
    return;
  }
  if (!answered || leases_.find(id) == leases_.end()) return;
  TaskQueue* queue = lease->queue;
  if (lease->idle()) {
    lease->idle_since = lease->last_answer;
    if (lease->draining && !lease->blocked) {
      give_back(lease);
      tell_demand(queue);
      return;
    }
  }
  pay(queue);
  if (leases_.find(id) == leases_.end()) return tell_demand(queue);
  dispatch(queue);
  if (lease->buffered > 0 && lease->sent.size() - lease->buffered <= kDeepest / 2) send_out(lease);
}

void TaskTable::handle(Lease* lease, const wire::Incoming& frame) {
  switch (static_cast<wire::DirectType>(frame.header.type)) {
    case wire::DirectType::kResult:
      return on_result(lease, frame.header.id, frame.body);
    case wire::DirectType::kItem:
      return on_item(lease, frame.header.id, frame.body);
    case wire::DirectType::kReturned:
      return on_returned(lease, frame.body);
    case wire::DirectType::kUnblocked:
      lease->blocked = false;
      return;
    default:
      return lease_ended(lease);
  }
}

Task* TaskTable::take_sent(Lease* lease, std::uint64_t number) {
  if (!lease->sent.empty() && lease->sent.front()->number() == number) {  // workers answer in order
    Task* first = lease->sent.front();
    lease->sent.pop_front();
    return first;
  }
  auto found = lease->sent.begin();
  while (found != lease->sent.end() && (*found)->number() != number) ++found;
  if (found == lease->sent.end()) return nullptr;
  Task* task = *found;
  lease->sent.erase(found);
  return task;
}

void TaskTable::on_result(Lease* lease, std::uint64_t number, std::string_view body) {
  Task* task = take_sent(lease, number);
  if (task == nullptr) return;  // an attempt that was given up
  wire::ByteReader in(body);
  auto head = in.get<wire::ResultHead>();
  if (!in.ok()) {
    fail(task, StatusCode::kCorruption, "the worker's answer does not fit its format");
    return lease_ended(lease);
  }
  learn(*task->function, head.duration_ns);
  timeline_.add({task->function, number, head.started_ns, head.duration_ns, lease->pid, head.status, head.cpu_ns,
                 head.peak_memory_bytes, head.bytes_in, head.bytes_out});
  if (head.retiring != 0) lease->draining = true;
  if (head.status == wire::TaskStatus::kCancelled) return fail(task, StatusCode::kCancelled, "the task was cancelled");
  if (head.status == wire::TaskStatus::kTimedOut) {
    return fail(task, StatusCode::kTimedOut, fmt::format("task {} ran past its timeout", task->function->name));
  }
  if (head.status == wire::TaskStatus::kRetry && task->retries_left != 0) return retry(task);
  const wire::ValueView first = wire::decode_value(in);
  std::vector<wire::ValueView> more(task->returns - 1u, first);  // a failed task's one value fails all its results
  for (std::size_t i = 0; i < more.size() && i + 1 < head.values; ++i) more[i] = wire::decode_value(in);
  if (!in.ok() || head.values == 0) {
    fail(task, StatusCode::kCorruption, "the worker's answer does not fit its format");
    return lease_ended(lease);
  }
  complete(task->first_result, first);
  for (std::size_t i = 0; i < more.size(); ++i) complete(task->extra->more_results[i], more[i]);
  if (head.status == wire::TaskStatus::kFailed) note_failure(*task, number, first);
  finish(task);
}

void TaskTable::note_failure(const Task& task, std::uint64_t number, const wire::ValueView& failure) {
  if (failure.encoding == wire::Encoding::kFailure) {
    auto report = wire::Failure::decode(failure.bytes);
    std::string text = report.is_ok() ? report->type_name + ": " + report->message : report.status().message();
    return timeline_.add_failure(task.function, number, false, text);
  }
  timeline_.add_failure(task.function, number, true, failure.bytes);
}

void TaskTable::on_item(Lease* lease, std::uint64_t number, std::string_view body) {
  auto found =
      std::find_if(lease->sent.begin(), lease->sent.end(), [&](Task* task) { return task->number() == number; });
  if (found == lease->sent.end()) return;
  Object* stream = (*found)->first_result;
  if (!stream->stream) return;
  wire::ByteReader in(body);
  in.get<std::uint32_t>();
  wire::ValueView value = wire::decode_value(in);
  if (!in.done()) return lease_ended(lease);
  auto* item = new Object;
  item->id = value.kind == wire::ValueKind::kSealed || value.nested_count > 0
                 ? value.object
                 : objects_.own_id(objects_.take_sequence(1));
  complete(item, value);
  ItemStream& items = *stream->detail->stream;
  items.items.push_back(item);
  items.available.store(items.items.size(), std::memory_order_release);
  ready_(stream);
}

void TaskTable::taken(Object* stream, std::uint64_t bytes) {
  Task* task = stream->producer;
  if (task == nullptr || task->lease == nullptr || task->lease->dead) return;
  std::string body;
  wire::ByteWriter(body).put(bytes);
  wire::append_frame(task->lease->socket.output(), wire::DirectType::kTaken, task->number(), body);
  send_out(task->lease);
}

void TaskTable::on_returned(Lease* lease, std::string_view body) {
  Result<wire::Returned> returned = wire::decode_returned(body);
  if (!returned.is_ok()) return lease_ended(lease);
  lease->recalled = false;
  if (returned->reason == wire::ReturnReason::kBlocked) {
    lease->blocked = true;
    // Its resources are free already; what it was to give back, another has to.
    if (lease->draining) ++lease->queue->owed;
    lease->draining = false;
  }
  if (returned->reason == wire::ReturnReason::kRetiring) lease->draining = true;
  for (auto it = returned->tasks.rbegin(); it != returned->tasks.rend(); ++it) {
    if (Task* task = take_sent(lease, *it)) enqueue(task, true);
  }
  dispatch(lease->queue);
}

void TaskTable::lease_ended(Lease* lease) {
  if (lease->dead) return;
  lease->dead = true;
  lease->socket.close();
  lease->buffered = 0;
}

void TaskTable::worker_lost(LeaseId id, const wire::WorkerLost& lost) {
  auto found = leases_.find(id);
  if (found == leases_.end()) return;
  Lease* lease = found->second.get();
  receive(lease);  // what it still answered
  found = leases_.find(id);
  if (found == leases_.end()) return;
  std::deque<Task*> sent = std::move(lease->sent);
  TaskQueue* queue = lease->queue;
  auto last =
      std::find_if(sent.begin(), sent.end(), [&](Task* task) { return task->number() == lost.facts.last_task; });
  std::ptrdiff_t started = last == sent.end() ? 0 : last - sent.begin() + 1;
  drop_lease(lease);
  for (auto position = static_cast<std::ptrdiff_t>(sent.size()) - 1; position >= 0; --position) {
    Task* task = sent[static_cast<std::size_t>(position)];
    if (position < started || task->cancelled) {
      retry_or_fail(task, lost);
    } else {
      enqueue(task, true);
    }
  }
  dispatch(queue);
}

void TaskTable::retry_or_fail(Task* task, const wire::WorkerLost& lost) {
  if (task->cancelled) return fail(task, StatusCode::kCancelled, "the task was cancelled; its worker was killed");
  bool streamed = task->generator;  // items may have been taken: running it again would give them twice
  if (task->retries_left == 0 || streamed) {
    StatusCode code = lost.facts.out_of_memory.empty() ? StatusCode::kWorkerDied : StatusCode::kWorkerOutOfMemory;
    return fail(task, code, wire::describe_loss(task->function->name, lost.facts));
  }
  forget_lost_attempt(task);
  retry(task);
}

void TaskTable::prepare_retry(Task* task) {
  count_retry(task);
  forget_lost_attempt(task);
}

void TaskTable::forget_lost_attempt(Task* task) {
  // The lost attempt may have recorded results at the node in our name, which only a release takes away.
  objects_.adopt_result(task->first_result);
  if (task->extra) {
    for (Object* result : task->extra->more_results) objects_.adopt_result(result);
  }
}

void TaskTable::count_retry(Task* task) {
  if (task->retries_left > 0) --task->retries_left;
  if (task->attempt < 255) ++task->attempt;
}

void TaskTable::retry(Task* task) {
  if (task->cancelled) return fail(task, StatusCode::kCancelled, "the task was cancelled");
  count_retry(task);
  enqueue(task, true);
}

void TaskTable::refused(std::uint32_t demand, StatusCode code, const std::string& reason) {
  if (demand >= by_number_.size()) return;
  TaskQueue* queue = by_number_[demand];
  std::deque<Task*> ready = std::move(queue->ready);
  queue->ready.clear();
  for (Task* task : ready) fail(task, code, reason);
  tell_demand(queue);
}

void TaskTable::fail_all(StatusCode code, const std::string& message) {
  for (TaskQueue* queue : by_number_) queue->ready.clear();
  actors_->clear();
  for (Lease* lease : open_leases_) {
    lease->sent.clear();
    lease_ended(lease);
  }
  while (first_task_ != nullptr) fail(first_task_, code, message);
}

void TaskTable::close_sockets() {
  for (Lease* lease : open_leases_) lease->socket.close();
}

bool TaskTable::cancel(Object* object, bool force) {
  Task* task = object->producer;
  if (task == nullptr) return false;
  task->cancelled = true;
  if (task->state != Task::State::kSent) {
    if (task->state == Task::State::kQueued && task->queue != nullptr) std::erase(task->queue->ready, task);
    fail(task, StatusCode::kCancelled, "the task was cancelled before it started");
    return true;
  }
  Lease* lease = task->lease;
  if (lease->dead) return true;
  if (force && lease->actor == nullptr && lease->sent.front() == task) {
    link_.send(wire::ControlType::kKillLease, lease->id);
    link_.flush();
  } else {
    wire::append_frame(lease->socket.output(), wire::DirectType::kCancel, task->number());
    send_out(lease);
  }
  return true;
}

// ---- Ends ----

void TaskTable::complete(Object* object, const wire::ValueView& value) {
  object->producer = nullptr;
  object->encoding = value.encoding;
  if (value.kind == wire::ValueKind::kSealed) {
    object->sealed = true;
    object->details().location = value.location;
  } else {
    object->bytes.assign(value.bytes);
  }
  for (std::uint32_t i = 0; i < value.nested_count; ++i) object->details().nested_ids.push_back(value.nested(i));
  if (object->sealed || value.nested_count > 0) objects_.adopt_result(object);  // its maker recorded it at the node
  bool recorded = object->sealed || value.nested_count > 0;
  object->state.store(Object::State::kReady, std::memory_order_release);
  if (!recorded) objects_.completed(object);
  ready_(object);
}

void TaskTable::fail(Task* task, StatusCode code, const std::string& message) {
  timeline_.add_failure(task->function, task->number(), false, message);
  std::string bytes(1, static_cast<char>(code));
  bytes += message;
  wire::ValueView failure;
  failure.encoding = wire::Encoding::kStatus;
  failure.bytes = bytes;
  fail(task, failure);
}

void TaskTable::end_without_result(Task* task) {
  complete(task->first_result, wire::ValueView());
  finish(task);
}

void TaskTable::fail(Task* task, const wire::ValueView& failure) {
  complete(task->first_result, failure);
  if (task->extra) {
    for (Object* result : task->extra->more_results) complete(result, failure);
  }
  finish(task);
}

void TaskTable::finish(Task* task) {
  if (task->actor != nullptr) actors_->finished(task);
  if (task->previous != nullptr) task->previous->next = task->next;
  if (task->next != nullptr) task->next->previous = task->previous;
  if (first_task_ == task) first_task_ = task->next;
  --unfinished_;
  auto drop = [this](Object* object) {
    if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(object);
  };
  drop(task->first_result);
  if (task->extra) {
    for (Object* result : task->extra->more_results) drop(result);
    for (Object* held : task->extra->held) drop(held);
    for (ArgumentPart& part : task->extra->parts) {
      if (part.object->detail) std::erase(part.object->detail->dependents, task);
      drop(part.object);
    }
  }
  delete task;
}

}  // namespace fray::client
