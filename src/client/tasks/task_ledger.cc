#include "client/tasks/task_ledger.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/amount_text.h"
#include "client/tasks/actor_queue.h"
#include "client/tasks/task_queue.h"
#include "wire/function_payload.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {

wire::TaskHead* head_of(Task* task) { return reinterpret_cast<wire::TaskHead*>(task->frame.data() + kHeadOffset); }

}  // namespace

TaskLedger::TaskLedger(NodeLink& link, ObjectTable& objects, Timeline& timeline, std::function<void(Object*)> ready)
    : link_(link), objects_(objects), timeline_(timeline), ready_(std::move(ready)) {}

TaskLedger::Sender& TaskLedger::sender_of(const Task& task) {
  return task.actor != nullptr ? *task.actor->sender : *task.queue->sender;
}

TaskLedger::Sender& TaskLedger::sender_of(const Lease& lease) {
  return lease.actor != nullptr ? *lease.actor->sender : *lease.queue->sender;
}

// ---- Submission ----

Status TaskLedger::check_size(const Task& task) const {
  std::uint64_t arguments = task.frame.size();
  if (task.extra) {
    for (const ArgumentPart& part : task.extra->parts) arguments += part.before.size();
  }
  const std::uint64_t function = task.function->payload->size();
  if (std::max(arguments, function) <= most_body_bytes_) return Status::ok();
  const bool is_function = function > most_body_bytes_;
  return Status(StatusCode::kInvalidArgument,
                fmt::format("{} {} {}, and at most {} may travel in one message{}",
                            is_function ? "what is called by" : "the arguments of", task.function->name,
                            is_function ? "is " + bytes_text(function) : "are " + bytes_text(arguments),
                            bytes_text(most_body_bytes_),
                            is_function ? ". Put the data that it captures with put() and pass the ref"
                                        : ", beside arrays and other values of more than 8.0 KiB each. Put them "
                                          "together in one value with put() and pass the ref"));
}

void TaskLedger::submit(Task* task) {
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

void TaskLedger::argument_ready(Object* object) {
  std::vector<Task*> dependents = std::move(object->detail->dependents);
  object->detail->dependents.clear();
  for (Task* task : dependents) {
    if (--task->missing == 0) enqueue(task, false);
  }
}

// The value of a generator task is the list of its items, which is sent as refs to them.
wire::Value TaskLedger::items_to_wire(Object* stream, Task* task) {
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
bool TaskLedger::build_frame(Task* task) {
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

void TaskLedger::enqueue(Task* task, bool again) {
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
  task->unwanted = false;
  sender_of(*task).ready(task, again);
}

// ---- Sending ----

void TaskLedger::send(Lease* lease, Task* task) {
  const Function& function = *task->function;
  if (lease->actor == nullptr && !lease->functions.used_last(function.id)) give_function(lease, function);
  head_of(task)->attempt = task->attempt;
  head_of(task)->may_retry = task->retries_left != 0 ? 1 : 0;
  lease->socket.output().append(task->frame);
  ++lease->buffered;
  note_unflushed(lease);
  if (lease->idle()) lease->last_answer = Clock::now();
  lease->sent.push_back(task);
  task->state = Task::State::kSent;
  task->lease = lease;
}

// Sends the function before the task, unless the worker has it; a function that the worker drops for it is named first.
void TaskLedger::give_function(Lease* lease, const Function& function) {
  if (lease->functions.use(function.id)) return;
  std::string& out = lease->socket.output();
  for (std::uint64_t forgotten : lease->functions.add(function.id, wire::function_bytes(*function.payload))) {
    wire::append_frame(out, wire::DirectType::kForget, forgotten);
  }
  wire::append_frame(out, wire::DirectType::kFunction, function.id, *function.payload);
}

// Sends what the socket takes; flush() sends the rest at the next POLLOUT.
void TaskLedger::send_out(Lease* lease) {
  if (lease->dead) return;
  // The node must know the objects that frames refer to before the frames arrive.
  if (link_.is_open() && link_.has_output()) {
    link_.flush();
    if (link_.has_output()) return flush_later(lease);
  }
  Status sent = lease->socket.flush();
  if (!sent.is_ok()) return could_not_send(lease);
  lease->buffered = 0;
  if (lease->socket.has_output()) flush_later(lease);
}

void TaskLedger::note_unflushed(Lease* lease) {
  if (!std::exchange(lease->in_flush, true)) unflushed_.push_back(lease);
}

void TaskLedger::flush_later(Lease* lease) {
  note_unflushed(lease);
  link_.call_for_flush();
}

void TaskLedger::flush() {
  wakes_.reset();
  if (!held_back_.empty()) send_out_all(std::exchange(held_back_, {}));
  send_out_all(std::exchange(unflushed_, {}));
  link_.flush();
}

void TaskLedger::flush_some() {
  const std::size_t most = wakes_.refill();
  if (most >= held_back_.size() + unflushed_.size()) return flush();
  std::vector<Lease*> waiting = std::exchange(held_back_, {});
  std::vector<Lease*> now;
  waiting.insert(waiting.end(), unflushed_.begin(), unflushed_.end());
  unflushed_.clear();
  std::size_t woken = 0;
  for (Lease* lease : waiting) {
    const bool wakes = lease->actor != nullptr && lease->socket.has_output();
    const bool waits = wakes && woken++ >= most;
    (waits ? held_back_ : now).push_back(lease);
  }
  held_until_ = Clock::now() + 1ms;
  send_out_all(std::move(now));
  link_.flush();
}

std::optional<Clock::time_point> TaskLedger::held_until() const {
  return held_back_.empty() ? std::nullopt : std::optional(held_until_);
}

void TaskLedger::send_out_all(std::vector<Lease*> leases) {
  for (Lease* lease : leases) lease->in_flush = false;
  for (Lease* lease : leases) send_out(lease);
}

void TaskLedger::send_call(Lease* connection, Task* call) {
  bool was_idle = connection->idle();
  if (was_idle) sockets_.expect(connection);
  send(connection, call);
  if ((was_idle && wakes_.take()) || connection->buffered >= kFlushFrames) send_out(connection);
  sent_all(connection);
}

void TaskLedger::taken(Object* stream, std::uint64_t bytes) {
  Task* task = stream->producer;
  if (task == nullptr || task->lease == nullptr || task->lease->dead) return;
  std::string body;
  wire::ByteWriter(body).put(bytes);
  wire::append_frame(task->lease->socket.output(), wire::DirectType::kTaken, task->number(), body);
  send_out(task->lease);
}

// ---- Ends ----

bool TaskLedger::cancel(Object* object, bool force, bool recursive) {
  Task* task = object->producer;
  if (task == nullptr) return false;
  task->cancelled = true;
  if (task->state != Task::State::kSent) {
    sender_of(*task).withdraw(task);
    return true;
  }
  Lease* lease = task->lease;
  if (lease->dead) return true;
  if (force && lease->actor == nullptr && lease->sent.front() == task) {
    link_.send(wire::ControlType::kKillLease, lease->id);
    link_.flush();
  } else {
    const std::string_view body = recursive ? std::string_view("\1", 1) : std::string_view();
    wire::append_frame(lease->socket.output(), wire::DirectType::kCancel, task->number(), body);
    send_out(lease);
  }
  return true;
}

void TaskLedger::cancel_between(std::uint64_t first, std::uint64_t end) {
  std::vector<Object*> results;  // a copy: a task that ends removes itself from the list, and may end others
  for (Task* task = first_task_; task != nullptr; task = task->next) {
    if (task->constructs || task->number() < first || task->number() >= end) continue;
    task->first_result->references.fetch_add(1, std::memory_order_relaxed);
    results.push_back(task->first_result);
  }
  for (Object* result : results) {
    cancel(result, false, true);
    if (result->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(result);
  }
}

void TaskLedger::complete(Object* object, const wire::ValueView& value) {
  object->producer = nullptr;
  object->encoding = value.encoding;
  if (value.kind == wire::ValueKind::kSealed) {
    object->sealed = true;
    object->details().location = value.location;
  } else {
    object->bytes.assign(value.bytes);
  }
  for (std::uint32_t i = 0; i < value.nested_count; ++i) object->details().nested_ids.push_back(value.nested(i));
  if (object->sealed || value.nested_count > 0) objects_.adopt_result(object);  // its maker recorded it
  bool recorded = object->sealed || value.nested_count > 0;
  object->state.store(Object::State::kReady, std::memory_order_release);
  if (!recorded) objects_.completed(object);
  ready_(object);
}

void TaskLedger::fail(Task* task, StatusCode code, const std::string& message) {
  timeline_.add_failure(task->function->name, task->number(), false, message);
  std::string bytes(1, static_cast<char>(code));
  bytes += message;
  wire::ValueView failure;
  failure.encoding = wire::Encoding::kStatus;
  failure.bytes = bytes;
  fail(task, failure);
}

void TaskLedger::end_without_result(Task* task) {
  complete(task->first_result, wire::ValueView());
  finish(task);
}

void TaskLedger::fail(Task* task, const wire::ValueView& failure) {
  complete(task->first_result, failure);
  if (task->extra) {
    for (Object* result : task->extra->more_results) complete(result, failure);
  }
  finish(task);
}

void TaskLedger::finish(Task* task) {
  sender_of(*task).ended(task);
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
  if (task->state != Task::State::kWithdrawn) {
    delete task;
    return;
  }
  task->first_result = nullptr;
  task->extra.reset();
  task->frame = {};
  task->function.reset();
}

void TaskLedger::lease_ended(Lease* lease) {
  if (lease->dead) return;
  lease->dead = true;
  sockets_.let_go(lease);
  lease->socket.hang_up();
  lease->buffered = 0;
  sender_of(*lease).broke(lease);
  if (lease->actor != nullptr || !link_.is_open()) return;
  // The worker may live on although no client can reach it: only the node can end it and report how it ended.
  link_.send(wire::ControlType::kLeaseBroken, lease->id);
  link_.flush();
}

void TaskLedger::close_sockets() {
  sockets_.abandon();
  for (Lease* lease : sockets_.all()) lease->socket.close();
}

// The worker must learn at once that it is free, because the node may have leased it again.
void TaskLedger::forget(Lease* lease) {
  sockets_.remove(lease);
  lease->socket.hang_up();
  if (!lease->in_flush) return;
  std::erase(unflushed_, lease);
  std::erase(held_back_, lease);
}

void TaskLedger::fail_all(StatusCode code, const std::string& message) {
  for (Lease* lease : sockets_.all()) {
    lease->sent.clear();
    lease_ended(lease);
  }
  while (first_task_ != nullptr) fail(first_task_, code, message);
}

}  // namespace fray::client
