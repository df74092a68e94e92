// TaskTable: which tasks wait for workers, the leases for them, and how many are asked for.
//
//   task->queue = table.queue(shape, depth);
//   ledger.submit(task);                 // queued and, if a worker is idle, sent
//   table.granted(grant, fd);            // the node gave a lease
//   table.worker_lost(lease, facts);     // retries or fails what it had
//
// Threading:  guarded by the client's mutex.
// Ownership:  owns queues and leases; tasks belong to TaskLedger.
// Failure:    see TaskLedger.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/leases/lease.h"
#include "client/session/node_link.h"
#include "client/tasks/task_ledger.h"

namespace fray {
struct WorkShape;

namespace wire {
struct Grant;
struct WorkerLost;
}  // namespace wire
}  // namespace fray

namespace fray::client {

class DemandWindow;
class TaskQueues;

class TaskTable : private TaskSender {
 public:
  struct Limits {
    double total_cpus = 1;
    std::uint32_t max_workers = 32;
    Clock::duration keep_idle = std::chrono::seconds(1);  // how long a lease without tasks is kept for the next one
  };

  TaskTable(NodeLink& link, TaskLedger& ledger);
  ~TaskTable() override;

  void set_limits(Limits limits) { limits_ = limits; }
  // The queue of the tasks of this shape and depth; null when none was made yet.
  TaskQueue* known_queue(const WorkShape& asked, std::uint32_t depth);
  TaskQueue* queue(const WorkShape& asked, std::uint32_t depth);

  void granted(LeaseId id, const wire::Grant& grant, os::Fd fd);
  void worker_lost(LeaseId id, const wire::WorkerLost& lost);
  void refused(std::uint32_t demand, StatusCode code, const std::string& reason);  // the node can never meet it
  void reclaim(std::uint32_t demand, std::uint32_t count);
  void clear();  // the node is gone; TaskLedger fails every task

  // Asks the worker of a task that was sent for it: the task is no longer `unwanted` when the worker has answered, and
  // has ended as cancelled if it had not begun. False: it has begun, as far as is known here.
  bool ask_back(Task* task);
  // Whether a task that was asked back turned out to have begun since the last call.
  bool take_found_begun() { return std::exchange(found_begun_, false); }

  // No further task will name this key: the node is told so when the present ones have ended.
  void retire_key(std::uint32_t key);
  // Time-driven work: balance, idle leases. `closing`: return every idle lease.
  void tick(Clock::time_point now, bool closing);
  // When tick() will have something to do, if nothing happens before.
  std::optional<Clock::time_point> next_due() const;

 private:
  void ready(Task* task, bool again) override;
  void ended(Task* task) override;
  void withdraw(Task* task) override;
  void was_read(Lease* lease, bool answered) override;
  void handle(Lease* lease, const wire::Incoming& frame) override;
  void broke(Lease* lease) override;

  void dispatch(TaskQueue* queue);
  std::size_t room(const Lease& lease, const Task& next) const;
  void tell_demand(TaskQueue* queue);
  std::uint32_t wanted_leases(TaskQueue* queue) const;
  void send_demand(TaskQueue* queue, std::uint32_t count);
  void note_asking(TaskQueue* queue, bool asks);
  bool keeps_others_waiting(const TaskQueue& queue) const;
  bool has_unwanted_leases(const TaskQueue& queue) const;
  void let_others_ask(TaskQueue* queue);
  void tell_next(DemandWindow& window);
  void look_at_retired(const TaskQueue& queue);
  void balance(TaskQueue* queue, Clock::time_point now);
  // The workers that could run the tasks that wait behind a running one.
  enum class Spare : std::uint8_t { kNone, kMayBeGranted, kIdle };
  static Spare spare_of(const TaskQueue& queue);
  static Clock::duration patience(Spare spare);
  void recall(Lease* lease);
  void tick(TaskQueue* queue, Clock::time_point now, bool closing);
  void pay(TaskQueue* queue);
  void give_back(Lease* lease);
  void drop_lease(Lease* lease);
  void forget_retired_keys();
  void on_returned(Lease* lease, std::string_view body);
  void sweep(TaskQueue* queue);
  static std::deque<Task*> take_ready(TaskQueue* queue);
  void retry_or_fail(Task* task, const wire::WorkerLost& lost);

  NodeLink& link_;
  TaskLedger& ledger_;
  Limits limits_;
  std::unique_ptr<TaskQueues> queues_;
  std::map<std::int32_t, std::int32_t> asking_;  // by priority: how many queues ask for leases
  std::map<std::uint32_t, TaskQueue*> holding_;  // by number: queues that have leases
  TaskQueue* last_queue_ = nullptr;    // the queue that was asked for last; most tasks are like the one before
  std::vector<std::uint32_t> paused_;  // numbers of queues
  bool found_begun_ = false;
  std::set<std::uint32_t> retired_keys_;
  std::vector<std::uint32_t> settled_keys_;  // of these: a queue has neither tasks nor leases any more
  std::unordered_map<LeaseId, std::unique_ptr<Lease>> leases_;
};

}  // namespace fray::client
