#include "client/task_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/amount_text.h"
#include "client/actor_table.h"
#include "client/task_queues.h"

namespace fray::client {

namespace {

constexpr std::uint64_t kQueuedWorkNs = 5'000'000;  // about so much work may wait behind a running task
constexpr std::uint32_t kFlushFrames = 32;

std::size_t depth_for(std::uint64_t mean_ns) {
  if (mean_ns == 0) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(kQueuedWorkNs / mean_ns), 1, kDeepest);
}

wire::TaskHead* head_of(Task* task) { return reinterpret_cast<wire::TaskHead*>(task->frame.data() + kHeadOffset); }

}  // namespace

TaskTable::TaskTable(NodeLink& link, ObjectTable& objects, Timeline& timeline, std::function<void(Object*)> ready)
    : link_(link),
      objects_(objects),
      timeline_(timeline),
      ready_(std::move(ready)),
      queues_(std::make_unique<TaskQueues>()) {}

TaskTable::~TaskTable() = default;

TaskQueue* TaskTable::known_queue(const WorkShape& asked, std::uint32_t depth) {
  TaskQueue* last = last_queue_;
  if (last != nullptr && last->shape.is(asked, depth)) return last;
  TaskQueue* found = queues_->find(asked.at_depth(depth));
  return found != nullptr ? last_queue_ = found : nullptr;
}

TaskQueue* TaskTable::queue(const WorkShape& asked, std::uint32_t depth) {
  if (TaskQueue* known = known_queue(asked, depth)) return known;
  TaskQueue* made = queues_->add(asked.at_depth(depth));
  double cpus = asked.resources.amount("CPU");
  double at_once = cpus > 0 ? std::max(1.0, std::floor(limits_.total_cpus / cpus)) : limits_.max_workers;
  made->most_leases = static_cast<std::uint32_t>(std::min<double>(at_once, limits_.max_workers));
  return made;
}

// ---- Submission ----

Status TaskTable::check_size(const Task& task) const {
  std::uint64_t arguments = task.frame.size();
  if (task.extra) {
    for (const ArgumentPart& part : task.extra->parts) arguments += part.before.size();
  }
  const std::uint64_t function = task.function->payload->size();
  if (std::max(arguments, function) <= limits_.most_body_bytes) return Status::ok();
  const bool is_function = function > limits_.most_body_bytes;
  return Status(StatusCode::kInvalidArgument,
                fmt::format("{} {} {}, and at most {} may travel in one message{}",
                            is_function ? "what is called by" : "the arguments of", task.function->name,
                            is_function ? "is " + bytes_text(function) : "are " + bytes_text(arguments),
                            bytes_text(limits_.most_body_bytes),
                            is_function ? ". Put the data that it captures with put() and pass the ref"
                                        : ", beside arrays and other values of more than 8.0 KiB each. Put them "
                                          "together in one value with put() and pass the ref"));
}

void TaskTable::submit(Task* task) {
  task->next = first_task_;
  if (first_task_ != nullptr) first_task_->previous = task;
  first_task_ = task;
  ++unfinished_;
  if (task->queue != nullptr) ++task->queue->unfinished;
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
    if (Status fits = check_size(*task); !fits.is_ok()) return fail(task, fits.code(), fits.message());
    if (!wire::finish_frame(task->frame, 0)) {
      return fail(task, StatusCode::kInvalidArgument, "the task's arguments are larger than any message");
    }
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
  for (sweep(queue); !queue->ready.empty(); sweep(queue)) {
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
  if (lease->actor == nullptr && !lease->functions.used_last(function.id)) give_function(lease, function);
  head_of(task)->attempt = task->attempt;
  head_of(task)->may_retry = task->retries_left != 0 ? 1 : 0;
  lease->socket.output().append(task->frame);
  ++lease->buffered;
  flush_later(lease);
  if (lease->idle()) lease->last_answer = Clock::now();
  lease->sent.push_back(task);
  task->state = Task::State::kSent;
  task->lease = lease;
}

// Ahead of the task, unless the worker has it; what the worker forgets for it is said first.
void TaskTable::give_function(Lease* lease, const Function& function) {
  if (lease->functions.use(function.id)) return;
  std::string& out = lease->socket.output();
  for (std::uint64_t forgotten : lease->functions.add(function.id, function.payload->size())) {
    wire::append_frame(out, wire::DirectType::kForget, forgotten);
  }
  wire::append_frame(out, wire::DirectType::kFunction, function.id, *function.payload);
}

// What has to stay back goes out with the next flush(), at a tick or a POLLOUT.
void TaskTable::send_out(Lease* lease) {
  if (lease->dead) return;
  // What frames refer to must be registered before they arrive.
  if (link_.is_open() && link_.has_output()) {
    link_.flush();
    if (link_.has_output()) return flush_later(lease);
  }
  Status sent = lease->socket.flush();
  if (!sent.is_ok()) return lease_ended(lease);
  lease->buffered = 0;
  if (lease->socket.has_output()) flush_later(lease);
}

void TaskTable::flush_later(Lease* lease) {
  if (!std::exchange(lease->in_flush, true)) unflushed_.push_back(lease);
}

void TaskTable::flush() {
  const std::vector<Lease*> leases = std::exchange(unflushed_, {});
  for (Lease* lease : leases) lease->in_flush = false;
  for (Lease* lease : leases) send_out(lease);
  link_.flush();
}

void TaskTable::send_call(Lease* connection, Task* call) {
  bool was_idle = connection->idle();
  if (was_idle) ++watch_version_;  // the sockets of idle actors are not watched
  send(connection, call);
  if (was_idle || connection->buffered >= kFlushFrames) send_out(connection);
}

bool TaskTable::cancel(Object* object, bool force) {
  Task* task = object->producer;
  if (task == nullptr) return false;
  task->cancelled = true;
  if (task->state != Task::State::kSent) {
    TaskQueue* queue = task->state == Task::State::kQueued ? task->queue : nullptr;
    if (queue != nullptr) {
      task->state = Task::State::kWithdrawn;
      ++queue->cancelled;
    }
    fail(task, StatusCode::kCancelled, "the task was cancelled before it started");
    if (queue != nullptr) {
      sweep(queue);
      if (queue->waiting() == 0) tell_demand(queue);  // or a worker would be started for nothing
    }
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
  timeline_.add_failure(task->function->name, task->number(), false, message);
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
  if (task->queue != nullptr && --task->queue->unfinished == 0) look_at_retired(*task->queue);
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
  if (task->state != Task::State::kWithdrawn) {
    delete task;
    return;
  }
  task->first_result = nullptr;
  task->extra.reset();
  task->frame = {};
  task->function.reset();
}

// Cancelled tasks leave the front of the queue at once and the rest of it when they are the most: looking for each of
// many in a long queue would cost far more than all the tasks.
void TaskTable::sweep(TaskQueue* queue) {
  auto drop = [queue](Task* task) {
    if (task->state != Task::State::kWithdrawn) return false;
    --queue->cancelled;
    delete task;
    return true;
  };
  if (queue->cancelled * 2 > queue->ready.size()) std::erase_if(queue->ready, drop);
  while (queue->cancelled > 0 && drop(queue->ready.front())) queue->ready.pop_front();
}

std::deque<Task*> TaskTable::take_ready(TaskQueue* queue) {
  std::deque<Task*> ready = std::exchange(queue->ready, {});
  queue->cancelled = 0;
  std::erase_if(ready, [](Task* task) {
    if (task->state != Task::State::kWithdrawn) return false;
    delete task;
    return true;
  });
  return ready;
}

}  // namespace fray::client
