// TaskTable: the submitter's side of tasks and leases: what waits, what was sent where, and what comes back.
//
//   table.submit(task);                  // waits for its arguments, or is queued and, if a worker is idle, sent
//   table.granted(grant, fd);            // the node gave a lease
//   table.receive(lease);                // frames of a worker were read
//   table.worker_lost(lease, facts);     // retries or fails what it had
//
// Threading:  guarded by Client's mutex.
// Ownership:  owns tasks, queues and leases.
// Failure:    a broken frame of a worker, or the end of its socket, is its death: the node kills it. Every task ends in exactly one of: its
//             results, an exception of its code, cancelled, timed out, worker died, deadlock, node gone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "client/lease.h"
#include "client/node_link.h"
#include "client/object_table.h"
#include "client/timeline.h"
#include "wire/frame.h"
#include "wire/value.h"

namespace fray {
struct WorkShape;

namespace wire {
struct Grant;
struct WorkerLost;
}  // namespace wire
}  // namespace fray

namespace fray::client {

class ActorTable;
class DemandWindow;
class TaskQueues;

inline constexpr std::size_t kDeepest = 128;  // tasks sent to one worker and not answered

class TaskTable {
 public:
  struct Limits {
    double total_cpus = 1;
    std::uint32_t max_workers = 32;
    Clock::duration keep_idle = std::chrono::seconds(1);    // how long a lease without tasks is kept for the next one
    std::uint64_t most_body_bytes = wire::kUsualBodyBytes;  // of a message
  };

  TaskTable(NodeLink& link, ObjectTable& objects, Timeline& timeline, std::function<void(Object*)> ready);
  ~TaskTable();

  void set_limits(Limits limits) { limits_ = limits; }
  void set_actors(ActorTable* actors) { actors_ = actors; }
  // The queue for such tasks, submitted at this depth; null where none was made yet.
  TaskQueue* known_queue(const WorkShape& asked, std::uint32_t depth);
  TaskQueue* queue(const WorkShape& asked, std::uint32_t depth);

  // Not ok: the task's function or arguments are more than a message may carry.
  Status check_size(const Task& task) const;
  void submit(Task* task);
  void argument_ready(Object* object);  // tasks that waited for it
  // True when the task had not ended yet.
  bool cancel(Object* object, bool force);

  void granted(LeaseId id, const wire::Grant& grant, os::Fd fd);
  void receive(Lease* lease);  // reads and handles what its socket has
  void worker_lost(LeaseId id, const wire::WorkerLost& lost);
  void refused(std::uint32_t demand, StatusCode code, const std::string& reason);  // the node can never meet it
  void reclaim(std::uint32_t demand, std::uint32_t count);
  void fail_all(StatusCode code, const std::string& message);

  // No further tasks will name this key: the node is told so when those there are have ended.
  void retire_key(std::uint32_t key);

  void close_sockets();  // in a child of fork()

  // Buffered frames and demands go out. Called before a wait and on every tick.
  void flush();
  // Time-driven work: balance, idle leases. `closing`: return every idle lease.
  void tick(Clock::time_point now, bool closing);
  // A generator's items were taken.
  void taken(Object* stream, std::uint64_t bytes);

  // For ActorTable. A connection is watched and read like a lease; it belongs to its ActorQueue.
  void open_connection(Lease* connection) { watch(connection); }
  void close_connection(Lease* connection);
  void send_call(Lease* connection, Task* call);
  void end_without_result(Task* task);
  void fail(Task* task, const wire::ValueView& failure);
  void fail(Task* task, StatusCode code, const std::string& message);
  void prepare_retry(Task* task);

  const std::vector<Lease*>& leases() const { return open_leases_; }
  // Grows whenever there is a socket to watch that was not there, or had nothing to say, before.
  std::uint64_t watch_version() const { return watch_version_; }
  std::size_t unfinished() const { return unfinished_; }

 private:
  void enqueue(Task* task, bool front);
  bool build_frame(Task* task);
  wire::Value items_to_wire(Object* stream, Task* task);
  void dispatch(TaskQueue* queue);
  std::size_t room(const Lease& lease, const Task& next) const;
  void send(Lease* lease, Task* task);
  void give_function(Lease* lease, const Function& function);
  void send_out(Lease* lease);
  void flush_later(Lease* lease);
  void tell_demand(TaskQueue* queue);
  std::uint32_t wanted_leases(TaskQueue* queue) const;
  void send_demand(TaskQueue* queue, std::uint32_t count);
  void note_asking(TaskQueue* queue, bool asks);
  bool keeps_others_waiting(const TaskQueue& queue) const;
  void let_others_ask(TaskQueue* queue);
  void tell_next(DemandWindow& window);
  void look_at_retired(const TaskQueue& queue);
  void balance(TaskQueue* queue, Clock::time_point now);
  void pay(TaskQueue* queue);
  void give_back(Lease* lease);
  void drop_lease(Lease* lease);
  void forget_retired_keys();

  void handle(Lease* lease, const wire::Incoming& frame);
  Task* take_sent(Lease* lease, std::uint64_t number);
  void on_result(Lease* lease, std::uint64_t number, std::string_view body);
  void note_failure(const Task& task, std::uint64_t number, const wire::ValueView& failure);
  void on_item(Lease* lease, std::uint64_t number, std::string_view body);
  void on_returned(Lease* lease, std::string_view body);
  void lease_ended(Lease* lease);
  void sweep(TaskQueue* queue);
  static std::deque<Task*> take_ready(TaskQueue* queue);
  void retry(Task* task);
  void count_retry(Task* task);
  void forget_lost_attempt(Task* task);
  void retry_or_fail(Task* task, const wire::WorkerLost& lost);

  void complete(Object* object, const wire::ValueView& value);
  void finish(Task* task);  // drops what the task held and deletes it, unless sweep() will

  NodeLink& link_;
  ObjectTable& objects_;
  Timeline& timeline_;
  std::function<void(Object*)> ready_;
  ActorTable* actors_ = nullptr;
  Limits limits_;
  Task* first_task_ = nullptr;  // every unfinished task
  std::size_t unfinished_ = 0;
  std::unique_ptr<TaskQueues> queues_;
  std::map<std::int32_t, std::int32_t> asking_;  // by priority: how many queues ask for leases
  TaskQueue* last_queue_ = nullptr;              // asked for last; most tasks are like the one before
  std::vector<std::uint32_t> paused_;            // numbers of queues
  std::set<std::uint32_t> retired_keys_;
  std::vector<std::uint32_t> settled_keys_;  // of these: a queue has neither tasks nor leases any more
  std::unordered_map<LeaseId, std::unique_ptr<Lease>> leases_;
  void watch(Lease* lease) {
    open_leases_.push_back(lease);
    ++watch_version_;
  }
  std::vector<Lease*> open_leases_;
  std::uint64_t watch_version_ = 0;
  std::vector<Lease*> unflushed_;
};

}  // namespace fray::client
