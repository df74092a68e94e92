#include "client/tasks/task_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "client/tasks/task_queues.h"
#include "wire/exit_text.h"
#include "wire/lease.h"

namespace fray::client {

namespace {

constexpr std::uint64_t kQueuedWorkNs = 5'000'000;  // how much work may wait at a worker behind its running task
// One task of up to this run time waits there although it is more work, where no further worker could be had for it.
constexpr std::uint64_t kLongestSentAheadNs = 50'000'000;

std::size_t depth_for(std::uint64_t mean_ns) {
  if (mean_ns == 0) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(kQueuedWorkNs / mean_ns), 1, kDeepest);
}

}  // namespace

TaskTable::TaskTable(NodeLink& link, TaskLedger& ledger)
    : link_(link), ledger_(ledger), queues_(std::make_unique<TaskQueues>()) {}

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
  made->sender = this;
  double cpus = asked.resources.amount("CPU");
  double at_once = cpus > 0 ? std::max(1.0, std::floor(limits_.total_cpus / cpus)) : limits_.max_workers;
  made->most_leases = static_cast<std::uint32_t>(std::min<double>(at_once, limits_.max_workers));
  return made;
}

// ---- Sending ----

void TaskTable::ready(Task* task, bool again) {
  TaskQueue* queue = task->queue;
  if (again) {
    queue->ready.push_front(task);
  } else {
    queue->ready.push_back(task);
    dispatch(queue);
  }
}

std::size_t TaskTable::room(const Lease& lease, const Task& next) const {
  if (lease.idle()) return 1;
  if (lease.stalled) return 0;
  // See docs/concepts/scheduling.md, "What is sent ahead".
  if (lease.rested && lease.queue->told > 0 && next.queue->shape.depth == 0) return 0;
  std::uint64_t before = lease.sent.back()->function->mean_ns;
  if (before == 0 || next.function->mean_ns == 0) return 0;
  const std::uint64_t longer = std::max(before, next.function->mean_ns);
  std::size_t depth = depth_for(longer);
  const bool all_are_here = lease.queue->order.usable() >= lease.queue->most_leases;
  if (depth == 1 && longer <= kLongestSentAheadNs && all_are_here) depth = 2;
  return depth > lease.sent.size() ? depth - lease.sent.size() : 0;
}

void TaskTable::dispatch(TaskQueue* queue) {
  Lease* behind = nullptr;  // one that has not been sent all
  Lease* last = nullptr;
  for (sweep(queue); !queue->ready.empty(); sweep(queue)) {
    Task* task = queue->ready.front();
    Lease* best = queue->order.first([&](const Lease& lease) { return room(lease, *task) > 0; });
    if (best == nullptr) break;
    queue->ready.pop_front();
    bool was_idle = best->idle();
    ledger_.send(best, task);
    queue->order.place(best);
    if (was_idle || best->buffered >= kFlushFrames) ledger_.send_out(best);
    last = best;
    if (best->buffered > 0) behind = best;
  }
  tell_demand(queue);
  if (last != nullptr) ledger_.sent_all(behind != nullptr ? behind : last);
}

// ---- Answers ----

void TaskTable::was_read(Lease* lease, bool answered) {
  if (answered) lease->last_answer = Clock::now();
  if (lease->dead || !answered) return;
  TaskQueue* queue = lease->queue;
  queue->order.place(lease);
  if (lease->idle()) {
    lease->idle_since = lease->last_answer;
    if (lease->draining && !lease->blocked) {
      give_back(lease);
      tell_demand(queue);
      return;
    }
  }
  const LeaseId id = lease->id;
  pay(queue);
  if (leases_.find(id) == leases_.end()) return tell_demand(queue);
  dispatch(queue);
  // Where many leases are busy with slow tasks, dispatch() gives up before it comes to this one.
  bool sent = false;
  while (!queue->ready.empty() && lease->usable() && room(*lease, *queue->ready.front()) > 0) {
    ledger_.send(lease, queue->ready.front());
    queue->ready.pop_front();
    queue->order.place(lease);
    sweep(queue);
    sent = true;
  }
  if (sent) tell_demand(queue);
  if (lease->idle()) lease->rested = true;
  if (lease->buffered > 0 && lease->sent.size() - lease->buffered <= kDeepest / 2) ledger_.send_out(lease);
  if (sent) ledger_.sent_all(lease);
}

void TaskTable::broke(Lease* lease) { lease->queue->order.place(lease); }

void TaskTable::handle(Lease* lease, const wire::Incoming& frame) {
  switch (static_cast<wire::DirectType>(frame.header.type)) {
    case wire::DirectType::kReturned:
      return on_returned(lease, frame.body);
    case wire::DirectType::kUnblocked:
      lease->blocked = false;
      return;
    default:
      return ledger_.lease_ended(lease);
  }
}

void TaskTable::on_returned(Lease* lease, std::string_view body) {
  Result<wire::Returned> returned = wire::decode<wire::Returned>(body);
  if (!returned.is_ok()) return ledger_.lease_ended(lease);
  if (returned->reason == wire::ReturnReason::kBlocked) {
    lease->blocked = true;
    // Its resources are free already; another lease has to be given back in its place.
    if (lease->draining) ++lease->queue->owed;
    lease->draining = false;
  }
  if (returned->reason == wire::ReturnReason::kRetiring) lease->draining = true;
  for (auto it = returned->tasks.rbegin(); it != returned->tasks.rend(); ++it) {
    Task* task = ledger_.take_sent(lease, *it);
    if (task == nullptr) continue;
    if (task->cancelled || task->unwanted) {  // cancelled while the worker returned it, or asked back for that
      ledger_.fail(task, StatusCode::kCancelled, kCancelledUnsent);
    } else {
      ledger_.enqueue(task, true);
    }
  }
  if (returned->reason == wire::ReturnReason::kRecalled && lease->recalls > 0 && --lease->recalls == 0) {
    for (Task* begun : lease->sent) found_begun_ |= std::exchange(begun->unwanted, false);
  }
  lease->queue->order.place(lease);
  dispatch(lease->queue);
}

void TaskTable::worker_lost(LeaseId id, const wire::WorkerLost& lost) {
  auto found = leases_.find(id);
  if (found == leases_.end()) return;
  Lease* lease = found->second.get();
  ledger_.receive(lease);  // answers that arrived before the end
  found = leases_.find(id);
  if (found == leases_.end()) return;
  std::deque<Task*> sent = std::move(lease->sent);
  TaskQueue* queue = lease->queue;
  auto last =
      std::find_if(sent.begin(), sent.end(), [&](Task* task) { return task->number() == lost.facts.last_task; });
  std::ptrdiff_t started = last == sent.end() ? 0 : last - sent.begin() + 1;
  drop_lease(lease);
  queue->told = kUnknownDemand;  // the loss may have crossed the last demand, which told of the lease
  for (auto position = static_cast<std::ptrdiff_t>(sent.size()) - 1; position >= 0; --position) {
    Task* task = sent[static_cast<std::size_t>(position)];
    if (position >= started && task->unwanted) {
      ledger_.fail(task, StatusCode::kCancelled, kCancelledUnsent);
    } else if (position < started || task->cancelled) {
      retry_or_fail(task, lost);
    } else {
      ledger_.enqueue(task, true);
    }
  }
  dispatch(queue);
}

void TaskTable::retry_or_fail(Task* task, const wire::WorkerLost& lost) {
  if (task->cancelled)
    return ledger_.fail(task, StatusCode::kCancelled, "the task was cancelled; its worker was killed");
  if (task->retries_left == 0) {
    StatusCode code = lost.facts.out_of_memory.empty() ? StatusCode::kWorkerDied : StatusCode::kWorkerOutOfMemory;
    return ledger_.fail(task, code, wire::describe_loss(task->function->name, lost.facts));
  }
  ledger_.forget_lost_attempt(task);
  ledger_.retry(task);
}

void TaskTable::refused(std::uint32_t demand, StatusCode code, const std::string& reason) {
  TaskQueue* queue = queues_->at(demand);
  if (queue == nullptr) return;
  for (Task* task : take_ready(queue)) ledger_.fail(task, code, reason);
  queue->told = kUnknownDemand;  // the node may have dropped the demand
  tell_demand(queue);
}

void TaskTable::clear() {
  for (TaskQueue* queue : queues_->all()) take_ready(queue);
}

// ---- Ends ----

void TaskTable::ended(Task* task) {
  if (--task->queue->unfinished == 0) look_at_retired(*task->queue);
}

void TaskTable::withdraw(Task* task) {
  TaskQueue* queue = task->state == Task::State::kQueued ? task->queue : nullptr;
  if (queue != nullptr) {
    task->state = Task::State::kWithdrawn;
    ++queue->cancelled;
  }
  ledger_.fail(task, StatusCode::kCancelled, kCancelledUnsent);
  if (queue == nullptr) return;
  sweep(queue);
  if (queue->waiting() == 0) tell_demand(queue);  // else the node would start a worker that is not needed
}

// Cancelled tasks are removed from the front of the queue at once, and from the rest of it when they are the majority:
// searching a long queue for each of many cancelled tasks would cost more than the tasks themselves.
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
