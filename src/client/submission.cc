#include "client/submission.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "client/call.h"
#include "client/tasks/task_queue.h"
#include "client/threads/plain_wait.h"
#include "model/reservation.h"
#include "model/resource_text.h"

namespace fray::client {

namespace {
constexpr std::chrono::seconds kAskBackLimit{1};  // a worker answers within a millisecond, unless it was stopped
thread_local std::uint32_t current_depth = 0;
thread_local std::uint64_t current_starter = 0;
}  // namespace

void Submission::set_depth(std::uint32_t depth) { current_depth = depth; }
std::uint32_t Submission::depth() { return current_depth; }
void Submission::set_starter(std::uint64_t call) { current_starter = call; }
std::uint64_t Submission::starter() { return current_starter; }

std::uint32_t Submission::define_key(const wire::WorkerKey& key) {
  ClientLock lock(mutex_);
  const auto [number, is_new] = keys_.hold(key);
  if (!is_new) return number;
  wire::DefineKey message;
  message.key = number;
  message.description = key;
  connection_.link().send(wire::ControlType::kDefineKey, 0, message);
  return number;
}

void Submission::hold_key(std::uint32_t number) {
  ClientLock lock(mutex_);
  keys_.hold_again(number);
}

void Submission::forget_key(std::uint32_t number) {
  if (connection_.is_abandoned()) return;
  ClientLock lock(mutex_);
  if (connection_.is_open() && keys_.release(number)) tasks_.retire_key(number);
}

void Submission::set_aside(const wire::SetAside& reservation) {
  ClientLock lock(mutex_);
  connection_.link().send(wire::ControlType::kSetAside, 0, reservation);
  connection_.link().flush();
}

void Submission::put_back(const std::string& name) {
  ClientLock lock(mutex_);
  connection_.link().send(wire::ControlType::kPutBack, 0, wire::PutBack{name});
  connection_.link().flush();
}

Status Submission::why_refused(const Task& task, const ResourceSet* resources, std::string_view kind) const {
  if (!connection_.is_open()) return connection_.closed();
  if (resources != nullptr && !connection_.total().covers(part_of_reservations(*resources, false))) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} {} asks for {}; this node has {} and can never run it. Ask for less, or declare more "
                              "with fray.init(cpus=..., resources=...)",
                              kind, task.function->name, text_beside(*resources, connection_.total()),
                              text_beside(connection_.total(), *resources)));
  }
  return ledger_.check_size(task);
}

void Submission::release_arguments(Task& task) {
  if (!task.extra) return;
  for (ArgumentPart& part : task.extra->parts) refs_.release(part.object);
  for (Object* held : task.extra->held) refs_.release(held);
  task.extra.reset();
}

Result<std::vector<Object*>> Submission::submit(std::unique_ptr<Task> given, const TaskOptions& options) {
  Unaccepted unaccepted{*this, given};
  ClientLock lock(mutex_);
  TaskQueue* queue = tasks_.known_queue(options.shape, current_depth);
  const ResourceSet* unknown = queue == nullptr ? &options.shape.resources : nullptr;
  FRAY_RETURN_IF_ERROR(why_refused(*given, unknown, "task"));
  Task* task = given.release();
  std::vector<Object*> results = make_results(task, options);
  task->queue = queue != nullptr ? queue : tasks_.queue(options.shape, current_depth);
  ledger_.submit(task);
  reading_.settle();
  kernel_.changed();
  return results;
}

Result<std::vector<Object*>> Submission::submit(Call call) { return submit(std::move(call.task), call.options); }

// Numbers the task and makes its result objects, each with one reference for the caller and one for the task.
std::vector<Object*> Submission::make_results(Task* task, const TaskOptions& options) {
  std::uint32_t count = std::max<std::uint32_t>(1, options.returns);
  std::uint64_t sequence = objects_.take_sequence(count);
  std::vector<Object*> results;
  results.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto* result = new Object;
    result->id = objects_.own_id(sequence + i);
    result->producer = task;
    result->references.store(2, std::memory_order_relaxed);
    results.push_back(result);
  }
  task->first_result = results.front();
  task->returns = static_cast<std::uint16_t>(count);
  task->retries_left = options.max_retries;
  task->generator = options.generator;
  if (count > 1) {
    if (!task->extra) task->extra = std::make_unique<Task::Extra>();
    task->extra->more_results.assign(results.begin() + 1, results.end());
  }
  if (task->generator) {
    results.front()->details().stream = std::make_unique<ItemStream>();
    results.front()->stream = true;
  }
  // The first part of the frame holds the header of the frame and the head of the task.
  std::string& begin = task->extra && !task->extra->parts.empty() ? task->extra->parts.front().before : task->frame;
  std::memcpy(begin.data() + offsetof(wire::FrameHeader, id), &sequence, sizeof(sequence));
  auto* head = reinterpret_cast<wire::TaskHead*>(begin.data() + kHeadOffset);
  head->depth = current_depth;
  if (current_starter != 0 || !started_.empty()) started_.note(current_starter, sequence);
  return results;
}

std::uint64_t Submission::next_number() {
  ClientLock lock(mutex_);
  return objects_.next_sequence();
}

void Submission::cancel_between(std::uint64_t first, std::uint64_t end) {
  ClientLock lock(mutex_);
  ledger_.cancel_between(first, end);
  reading_.settle();
  kernel_.changed();
}

void Submission::cancel_started(std::uint64_t call) {
  ClientLock lock(mutex_);
  for (const auto& [first, end] : started_.of(call)) ledger_.cancel_between(first, end);
  reading_.settle();
  kernel_.changed();
}

void Submission::forget_started(std::uint64_t call) {
  if (current_starter == call) current_starter = 0;
  if (started_.empty()) return;
  ClientLock lock(mutex_);
  started_.forget(call);
}

bool Submission::cancel(Object* object, bool force, bool recursive) {
  ClientLock lock(mutex_);
  bool cancelled = ledger_.cancel(object, force, recursive);
  if (!cancelled && !object->is_ready() && object->registered) {
    NodeLink& link = connection_.link();
    link.send(wire::ControlType::kCancelObject, 0, wire::CancelObject{object->id, force, recursive});
    link.flush();
  }
  reading_.settle();
  kernel_.changed();
  return cancelled;
}

bool Submission::is_waiting(Object* object) const {
  ClientLock lock(mutex_);
  const Task* task = object->producer;
  if (task == nullptr) return false;
  return task->state != Task::State::kSent || (task->queue != nullptr && task->lease->sent.front() != task);
}

Result<bool> Submission::withdraw(Object* object, WaitHooks& hooks) {
  {
    ClientLock lock(mutex_);
    Task* task = object->producer;
    if (task == nullptr) return object->was_cancelled();
    const bool sent = task->state == Task::State::kSent;
    if (sent && !tasks_.ask_back(task)) return false;
    if (!sent) ledger_.cancel(object, false);
    reading_.settle();
    kernel_.changed();
    if (!sent) return true;
  }
  auto answered = [object]() FRAY_REQUIRES(client_mutex) {
    return object->producer == nullptr || !object->producer->unwanted;
  };
  PlainWait waiter(hooks);
  const WaitResult result = kernel_.wait(answered, Clock::now() + kAskBackLimit, waiter);
  ClientLock lock(mutex_);
  if (object->producer != nullptr) object->producer->unwanted = false;
  if (result == WaitResult::kInterrupted) return Status(StatusCode::kCancelled, "interrupted");
  return object->was_cancelled();
}

}  // namespace fray::client
