// What comes back to a TaskTable: results, items, returned tasks, lost workers; and what is tried again.
#include <algorithm>

#include <fmt/format.h>

#include "client/actor_table.h"
#include "client/task_queues.h"
#include "client/task_table.h"
#include "wire/exit_text.h"
#include "wire/failure.h"
#include "wire/lease.h"

namespace fray::client {

namespace {

void learn(Function& function, std::uint64_t duration_ns) {
  std::uint64_t seen = std::max<std::uint64_t>(duration_ns, 1);
  function.mean_ns = function.mean_ns == 0 ? seen : (function.mean_ns * 3 + seen) / 4;
}

}  // namespace

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
  timeline_.add(task->function->name, {number, head.started_ns, head.duration_ns, lease->pid, head.status, head.cpu_ns,
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
    auto report = wire::decode<wire::Failure>(failure.bytes);
    std::string text = report.is_ok() ? report->type_name + ": " + report->message : report.status().message();
    return timeline_.add_failure(task.function->name, number, false, text);
  }
  timeline_.add_failure(task.function->name, number, true, failure.bytes);
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
  Result<wire::Returned> returned = wire::decode<wire::Returned>(body);
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
    Task* task = take_sent(lease, *it);
    if (task == nullptr) continue;
    if (task->cancelled) {  // the word of it met the task on its way back
      fail(task, StatusCode::kCancelled, "the task was cancelled before it started");
    } else {
      enqueue(task, true);
    }
  }
  dispatch(lease->queue);
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
  TaskQueue* queue = queues_->at(demand);
  if (queue == nullptr) return;
  for (Task* task : take_ready(queue)) fail(task, code, reason);
  tell_demand(queue);
}

void TaskTable::fail_all(StatusCode code, const std::string& message) {
  for (TaskQueue* queue : queues_->all()) take_ready(queue);
  actors_->clear();
  for (Lease* lease : open_leases_) {
    lease->sent.clear();
    lease_ended(lease);
  }
  while (first_task_ != nullptr) fail(first_task_, code, message);
}

}  // namespace fray::client
