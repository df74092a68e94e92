// TaskLedger: all tasks that this process has submitted and that have not ended, whether leased workers or actors run
// them, and the sockets over which they are sent and answered.
//
//   ledger.submit(task);             // its frame is made as soon as its arguments are ready; then sender->ready(task)
//   ledger.send(lease, task);        // by its sender, when it is its turn
//   ledger.receive(lease);           // what a worker has answered: results, items
//
// A *sender* has the connections: TaskTable, which leases workers for the tasks of one shape, or ActorTable, which keeps one
// connection to each actor. The queue that a task or a connection belongs to names its sender. Neither knows the other.
//
//        submit ──▶ waits for arguments ──▶ Sender::ready ──▶ send ──▶ receive ──▶ Sender::ended
//                          │ one of them failed      ▲ again │                          ▲
//                          └─────────────────────────┼───────┴── fail, cancel ──────────┘
//
// Threading:  guarded by the client's mutex.
// Ownership:  owns tasks from submission to their end. Sockets belong to the leases of their senders.
// Failure:    a broken frame of a worker, or the end of its socket, is its death: the node kills it. Every task ends in
//             exactly one of: its results, an exception of its code, cancelled, timed out, worker died, deadlock, node
//             gone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/leases/lease.h"
#include "client/leases/lease_watch.h"
#include "client/objects/object_table.h"
#include "client/session/node_link.h"
#include "client/tasks/task.h"
#include "client/tasks/timeline.h"
#include "client/tasks/wake_budget.h"
#include "os/machine/machine.h"
#include "wire/frame.h"
#include "wire/value.h"

namespace fray::client {

inline constexpr std::size_t kDeepest = 128;  // tasks sent to one worker and not answered
inline constexpr std::uint32_t kFlushFrames = 32;
inline constexpr const char* kCancelledUnsent = "the task was cancelled before it started";

// Whoever sends a task.
struct TaskSender {
  virtual ~TaskSender() = default;
  // The task's arguments are there and its frame is whole. `again`: the task was sent before, and is to be sent before those
  // that were not.
  virtual void ready(Task* task, bool again) = 0;
  virtual void ended(Task* task) = 0;     // the task is about to be deleted
  virtual void withdraw(Task* task) = 0;  // the task was cancelled before it was sent, and is to fail
  // Everything that had arrived on the lease's socket was handled; the lease may be dead now.
  virtual void was_read(Lease* lease, bool answered) = 0;
  virtual void handle(Lease* lease, const wire::Incoming& frame) = 0;  // a frame that is neither result nor item
  virtual void broke(Lease* lease) = 0;                                // the lease is dead from now on
};

class TaskLedger {
 public:
  using Sender = TaskSender;

  TaskLedger(NodeLink& link, ObjectTable& objects, Timeline& timeline, std::function<void(Object*)> ready);

  void set_most_body_bytes(std::uint64_t bytes) { most_body_bytes_ = bytes; }  // of a message
  // Fails when the task's function or arguments are larger than a message may be.
  Status check_size(const Task& task) const;
  void submit(Task* task);
  void argument_ready(Object* object);  // tasks that waited for it
  // True when the task had not ended yet. `recursive`: the tasks that it has started are cancelled too.
  bool cancel(Object* object, bool force, bool recursive = false);
  // Cancels the tasks with numbers from `first` to before `end`, and the tasks that these have started.
  void cancel_between(std::uint64_t first, std::uint64_t end);
  // A generator's items were taken.
  void taken(Object* stream, std::uint64_t bytes);
  // The node is gone.
  void fail_all(StatusCode code, const std::string& message);
  std::size_t unfinished() const { return unfinished_; }
  // No answer is due, and nothing is to be sent.
  bool is_quiet() const { return unfinished_ == 0 && unflushed_.empty() && held_back_.empty(); }

  // ---- For senders ----
  void enqueue(Task* task, bool again);  // the task may be sent, once its frame is whole
  // Whoever has sent something calls send_out() where it is urgent, and sent_all() at the end.
  void send(Lease* lease, Task* task);
  void send_call(Lease* connection, Task* call);
  void send_out(Lease* lease);
  Task* take_sent(Lease* lease, std::uint64_t number);
  void lease_ended(Lease* lease);
  void end_without_result(Task* task);
  void fail(Task* task, const wire::ValueView& failure);
  void fail(Task* task, StatusCode code, const std::string& message);
  void retry(Task* task);
  void prepare_retry(Task* task);
  void forget_lost_attempt(Task* task);

  // ---- Sockets ----
  void watch(Lease* lease) { sockets_.add(lease); }
  void forget(Lease* lease);
  void receive(Lease* lease);  // reads and handles what its socket has
  // What is still buffered goes out, and answers are read, some milliseconds later at the most, whatever the threads of the
  // program do. To set the alarm for that may take as long as to wake a worker, so what is urgent is sent before.
  void sent_all(const Lease* lease) { lease->buffered > 0 ? link_.call_for_flush() : link_.call_for_answers(); }
  // Buffered frames go out. Called before a wait.
  void flush();
  // The same for a look of the backup thread, which may hold back calls of actors that rest until the next look.
  void flush_some();
  // When that one is due; none where nothing is held back.
  std::optional<Clock::time_point> held_until() const;
  void close_sockets();  // in a child of fork()
  const std::vector<Lease*>& leases() const { return sockets_.all(); }
  const std::vector<Lease*>& unflushed() const { return unflushed_; }  // what flush() looks at
  LeaseWatch& sockets() { return sockets_; }

 private:
  static Sender& sender_of(const Task& task);
  static Sender& sender_of(const Lease& lease);
  bool build_frame(Task* task);
  wire::Value items_to_wire(Object* stream, Task* task);
  void give_function(Lease* lease, const Function& function);
  void note_unflushed(Lease* lease);
  void flush_later(Lease* lease);
  void send_out_all(std::vector<Lease*> leases);
  Status take_answers(Lease* lease, bool* answered);
  void could_not_send(Lease* lease);
  void handle(Lease* lease, const wire::Incoming& frame);
  void on_result(Lease* lease, std::uint64_t number, std::string_view body);
  void note_failure(const Task& task, std::uint64_t number, const wire::ValueView& failure);
  void on_item(Lease* lease, std::uint64_t number, std::string_view body);
  void count_retry(Task* task);
  void complete(Object* object, const wire::ValueView& value);
  void finish(Task* task);  // drops what the task held and deletes it, unless its queue still has it

  NodeLink& link_;
  ObjectTable& objects_;
  Timeline& timeline_;
  std::function<void(Object*)> ready_;
  std::uint64_t most_body_bytes_ = wire::kUsualBodyBytes;
  Task* first_task_ = nullptr;  // every unfinished task
  std::size_t unfinished_ = 0;
  LeaseWatch sockets_;
  std::vector<Lease*> unflushed_;
  std::vector<Lease*> held_back_;  // actors that rest, in the order of their calls; they are in_flush as well
  Clock::time_point held_until_;
  WakeBudget wakes_{os::usable_cpus};
};

}  // namespace fray::client
