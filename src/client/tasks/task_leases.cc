// The leases of a TaskTable: how many the node is asked for, when one is given back, and which tasks a slow worker
// returns.
#include <algorithm>
#include <memory>
#include <utility>

#include "client/tasks/task_queues.h"
#include "client/tasks/task_table.h"
#include "wire/demand.h"
#include "wire/lease.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {

constexpr auto kStealAfter = 2ms;  // a worker that has not answered for this time returns tasks that it has not started
// After this time it does so even if no other worker could run them at once, so that later ones do not overtake them for long.
constexpr auto kPassedOverAfter = 100ms;

}  // namespace

std::uint32_t TaskTable::wanted_leases(TaskQueue* queue) const {
  const std::uint32_t active = queue->order.usable();
  std::size_t waiting = queue->waiting() + queue->order.behind();
  std::uint32_t more = active >= queue->most_leases ? 0 : queue->most_leases - active;
  if (queue->waiting() == 0 && waiting < kWorthSharing)
    waiting = 0;  // a few short tasks behind running ones do not need another worker
  if (queue->pause_until && Clock::now() < *queue->pause_until) return 0;
  return static_cast<std::uint32_t>(std::min<std::size_t>(waiting, more));
}

void TaskTable::tell_demand(TaskQueue* queue) {
  const std::uint32_t count = wanted_leases(queue);
  if (count > 0 && !queue->window->admit(queue->number)) return;
  send_demand(queue, count);
  if (count > 0) return;
  queue->window->leave(queue->number);
  tell_next(*queue->window);
}

void TaskTable::tell_next(DemandWindow& window) {
  while (auto number = window.next()) {
    TaskQueue* queue = queues_->at(*number);
    const std::uint32_t count = queue == nullptr ? 0 : wanted_leases(queue);
    if (count > 0) {
      send_demand(queue, count);
    } else {
      window.leave(*number);
    }
  }
}

// Called when a queue has got a lease: its place in the window goes to a demand that the node does not know yet.
void TaskTable::let_others_ask(TaskQueue* queue) {
  if (!queue->window->others_wait()) return;
  send_demand(queue, 0);
  queue->window->leave(queue->number);
  tell_next(*queue->window);
}

void TaskTable::send_demand(TaskQueue* queue, std::uint32_t count) {
  if (count == queue->told) return;
  queue->told = count;
  note_asking(queue, count > 0);
  wire::Demand message;
  message.demand = queue->number;
  message.count = count;
  message.leases = queue->leases;
  message.shape = queue->shape;
  link_.send(wire::ControlType::kDemand, 0, message);
  link_.flush();
}

void TaskTable::note_asking(TaskQueue* queue, bool asks) {
  if (std::exchange(queue->asks, asks) == asks) return;
  auto of_priority = asking_.try_emplace(queue->shape.priority, 0).first;
  of_priority->second += asks ? 1 : -1;
  if (of_priority->second == 0) asking_.erase(of_priority);
}

// An idle lease is kept for the next task, unless a queue of lower priority waits. The node does not ask for it in that
// case: it cannot tell idle leases from busy ones, and a busy lease does not make way for a lower priority.
bool TaskTable::keeps_others_waiting(const TaskQueue& queue) const {
  return !asking_.empty() && asking_.begin()->first < queue.shape.priority;
}

void TaskTable::granted(LeaseId id, const wire::Grant& grant, os::Fd fd) {
  TaskQueue* queue = queues_->at(grant.demand);
  if (queue == nullptr) {
    link_.send(wire::ControlType::kReturnLease, id);
    return;
  }
  if (queue->told > 0 && queue->told != kUnknownDemand) --queue->told;
  if (!fd.is_open()) {  // no descriptor was free for it: try again later
    link_.send(wire::ControlType::kReturnLease, id);
    if (queue->leases == 0 && ++queue->times_without_descriptors >= kMostTimesWithoutDescriptors) {
      queue->times_without_descriptors = 0;
      return refused(queue->number, StatusCode::kResourceExhausted, kWithoutDescriptors);
    }
    queue->pause_until = Clock::now() + kPauseWithoutDescriptors;
    paused_.push_back(queue->number);
    return tell_demand(queue);
  }
  queue->times_without_descriptors = 0;
  auto lease = std::make_unique<Lease>();
  lease->id = id;
  lease->worker = grant.worker;
  lease->pid = grant.pid;
  lease->queue = queue;
  lease->socket = wire::FrameSocket(std::move(fd));
  lease->idle_since = Clock::now();
  lease->last_answer = lease->idle_since;
  if (queue->leases++ == 0) holding_.emplace(queue->number, queue);
  queue->order.place(lease.get());
  ledger_.watch(lease.get());
  leases_.emplace(id, std::move(lease));
  let_others_ask(queue);
  dispatch(queue);
  balance(queue, Clock::now());
}

void TaskTable::give_back(Lease* lease) {
  link_.send(wire::ControlType::kReturnLease, lease->id);
  link_.flush();
  drop_lease(lease);
}

void TaskTable::drop_lease(Lease* lease) {
  TaskQueue* queue = lease->queue;
  queue->order.remove(lease);
  if (--queue->leases == 0) {
    queue->owed = 0;
    holding_.erase(queue->number);
    look_at_retired(*queue);
  }
  ledger_.forget(lease);
  leases_.erase(lease->id);
}

void TaskTable::reclaim(std::uint32_t demand, std::uint32_t count) {
  TaskQueue* asked = queues_->at(demand);
  if (asked == nullptr) return;
  asked->owed += count;
  pay(asked);
}

// Gives leases back that were asked for: idle ones at once, busy ones when their tasks have ended. While every lease is
// blocked, none can be given back, and the queue still owes them.
void TaskTable::pay(TaskQueue* queue) {
  while (queue->owed > 0) {
    Lease* chosen = queue->order.first([](const Lease&) { return true; });
    if (chosen == nullptr) return;
    --queue->owed;
    if (chosen->idle()) {
      give_back(chosen);
      continue;
    }
    chosen->draining = true;
    queue->order.place(chosen);
    if (chosen->sent.size() > 1) recall(chosen);
  }
}

// Whether another worker could run the tasks that wait behind a slow one: an idle worker, or one that the node may
// still grant.
TaskTable::Spare TaskTable::spare_of(const TaskQueue& queue) {
  if (queue.waiting() > 0) return Spare::kNone;
  if (queue.order.has_idle()) return Spare::kIdle;
  return queue.order.usable() < queue.most_leases ? Spare::kMayBeGranted : Spare::kNone;
}

Clock::duration TaskTable::patience(Spare spare) { return spare == Spare::kNone ? kPassedOverAfter : kStealAfter; }

void TaskTable::balance(TaskQueue* queue, Clock::time_point now) {
  const Spare spare = spare_of(*queue);
  const bool shares = spare == Spare::kIdle && queue->order.has_worth_sharing();
  const Lease* silent = queue->order.longest_silent();
  if (!shares && (silent == nullptr || now - silent->last_answer < patience(spare))) return;
  for (Lease* lease : queue->order.returnable()) {
    lease->stalled = now - lease->last_answer >= patience(spare);
    if (!lease->stalled && !shares) break;  // the leases behind it have answered later
    if (!lease->stalled && lease->sent.size() < kWorthSharing) continue;
    recall(lease);
  }
}

// The worker answers with kReturned, also where it has begun all tasks.
void TaskTable::recall(Lease* lease) {
  ++lease->recalls;
  lease->queue->order.place(lease);
  wire::append_frame(lease->socket.output(), wire::DirectType::kRecall, 0);
  ledger_.send_out(lease);
}

bool TaskTable::ask_back(Task* task) {
  Lease* lease = task->lease;
  if (task->queue == nullptr || lease->dead || lease->sent.front() == task) return false;
  task->unwanted = true;
  recall(lease);  // again, if an earlier one is under way: the task may have been sent after it
  return true;
}

void TaskTable::tick(Clock::time_point now, bool closing) {
  if (closing) ledger_.flush();
  std::erase_if(paused_, [&](std::uint32_t number) {
    TaskQueue* queue = queues_->at(number);
    if (queue == nullptr || !queue->pause_until) return true;
    if (now < *queue->pause_until) return false;
    queue->pause_until.reset();
    tell_demand(queue);
    return true;
  });
  for (auto next = holding_.begin(); next != holding_.end();) {
    TaskQueue* queue = next->second;
    ++next;  // the queue may give back its last lease
    tick(queue, now, closing);
  }
  forget_retired_keys();
}

void TaskTable::tick(TaskQueue* queue, Clock::time_point now, bool closing) {
  if (queue->order.longest_silent() != nullptr) balance(queue, now);
  const bool all = closing || has_unwanted_leases(*queue);
  while (Lease* idle = queue->order.longest_idle()) {
    if (!all && now - idle->idle_since < limits_.keep_idle) break;
    give_back(idle);
  }
}

// Whether idle leases are to be given back at once.
bool TaskTable::has_unwanted_leases(const TaskQueue& queue) const {
  return retired_keys_.contains(queue.shape.key) || keeps_others_waiting(queue);
}

std::optional<Clock::time_point> TaskTable::next_due() const {
  constexpr auto kAtOnce = Clock::time_point::min();
  Clock::time_point due = Clock::time_point::max();
  for (std::uint32_t number : paused_) {
    const TaskQueue* queue = queues_->at(number);
    due = std::min(due, queue != nullptr && queue->pause_until ? *queue->pause_until : kAtOnce);
  }
  for (const auto& [number, queue] : holding_) {
    const LeaseOrder& order = queue->order;
    if (const Lease* idle = order.longest_idle()) {
      due = std::min(due, has_unwanted_leases(*queue) ? kAtOnce : idle->idle_since + limits_.keep_idle);
    }
    const Lease* silent = order.longest_silent();
    if (silent == nullptr) continue;
    const Spare spare = spare_of(*queue);
    const bool at_once = spare == Spare::kIdle && order.has_worth_sharing();
    due = std::min(due, at_once ? kAtOnce : silent->last_answer + patience(spare));
  }
  if (due == Clock::time_point::max()) return std::nullopt;
  return due;
}

void TaskTable::retire_key(std::uint32_t key) {
  retired_keys_.insert(key);
  settled_keys_.push_back(key);
  forget_retired_keys();
}

void TaskTable::look_at_retired(const TaskQueue& queue) {
  if (retired_keys_.empty() || queue.unfinished > 0 || queue.leases > 0) return;
  if (retired_keys_.contains(queue.shape.key)) settled_keys_.push_back(queue.shape.key);
}

void TaskTable::forget_retired_keys() {
  for (std::uint32_t key : std::exchange(settled_keys_, {})) {
    const std::vector<TaskQueue*> queues = queues_->of_key(key);
    const bool busy = std::any_of(queues.begin(), queues.end(),
                                  [](const TaskQueue* queue) { return queue->unfinished > 0 || queue->leases > 0; });
    if (busy || retired_keys_.erase(key) == 0) continue;
    for (TaskQueue* queue : queues) {
      take_ready(queue);  // only cancelled tasks are left
      tell_demand(queue);
      if (last_queue_ == queue) last_queue_ = nullptr;
    }
    queues_->remove_key(key);
    link_.send(wire::ControlType::kForgetKey, key);
  }
}

}  // namespace fray::client
