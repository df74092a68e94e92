// ActorTable: the caller's side of actors: calls in order, one connection each, and what becomes of calls when an actor dies.
//
//   ActorQueue* queue = table.queue(actor);
//   table.call(queue, task);              // sent when it is its turn and its arguments are ready
//   table.connected(message, fd);         // the node connected us to an incarnation
//   table.lost(message);                  // the incarnation is gone; docs/decisions/0004 has the rules
//
// Threading:  guarded by Client's mutex.
// Ownership:  owns queues and connections; tasks belong to TaskLedger.
// Failure:    a call that cannot have a result fails with Encoding::kActorDied, which says whether it may have run.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/objects/object_table.h"
#include "client/session/node_link.h"
#include "client/tasks/actor_queue.h"
#include "client/tasks/task_ledger.h"

namespace fray::client {

class ActorTable : private TaskSender {
 public:
  ActorTable(NodeLink& link, ObjectTable& objects, TaskLedger& ledger);

  // The queue of the actor that `object` stands for.
  ActorQueue* queue(Object* object);
  void call(ActorQueue* queue, Task* task);
  // Sends class and arguments to the node as soon as the arguments are ready; `settings` are for the worker.
  void construct(ActorQueue* queue, Task* task, std::string settings);

  void connected(const wire::ActorConnected& message, os::Fd fd);
  void lost(const wire::ActorLost& message);

  void clear();  // the node is gone; TaskLedger fails every task

  // Releases the actors whose last call has ended. Not to be called while a socket is read: the socket may be that of
  // such an actor, and would be closed.
  void collect();
  // The actors with calls that have no answer yet, and how many calls each has.
  std::vector<std::pair<ActorId, std::uint32_t>> unfinished_calls() const;
  // Asks the node again for connections that could not be made for lack of descriptors.
  void tick(Clock::time_point now);
  std::optional<Clock::time_point> next_due() const {  // of tick()
    return paused_.empty() ? std::nullopt : std::optional(paused_.front().second);
  }

 private:
  void ready(Task* task, bool again) override;
  void ended(Task* task) override;
  void withdraw(Task* task) override;
  void was_read(Lease* connection, bool answered) override;
  void handle(Lease* connection, const wire::Incoming& frame) override;
  void broke(Lease* connection) override;

  void dropped(ActorQueue* queue);  // the last handle is gone
  void ask(ActorQueue* queue);
  void advance(ActorQueue* queue);
  void send_constructor(Task* task);
  void forget_pause(const ObjectId& actor);
  void give_up(ActorQueue* queue);
  std::deque<Task*> take_sent(ActorQueue* queue);
  void sort_out(ActorQueue* queue, const wire::ActorLost& lost);
  void fail(ActorQueue* queue, Task* task, wire::ActorDeath::Executed executed);

  NodeLink& link_;
  ObjectTable& objects_;
  TaskLedger& ledger_;
  std::unordered_map<ObjectId, std::unique_ptr<ActorQueue>> queues_;
  std::unordered_map<Task*, std::string> settings_;  // of constructors that wait for their arguments
  std::vector<Object*> finished_;                    // actors without unfinished calls; counted
  std::vector<std::pair<ObjectId, Clock::time_point>> paused_;
};

}  // namespace fray::client
