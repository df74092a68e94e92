// QueueTable: decides what is handed out of which queue, to whom, and when a lease ends.
//
//   table.ask(1, {.verb = Verb::kMake, .queue = "pages"}, now);
//   table.ask(2, {.verb = Verb::kPush, .queue = "pages", .items = {"a"}}, now);
//   table.take_commands();   // KeepQueue, Answered{1}, KeepItem, Answered{2}, KeepNext
//
// Rules (docs/decisions/0028). The item that was pushed first is leased first, however often it was leased before. A lease
// whose time is over is taken back when somebody looks: at a pop, a peek or a count, and while somebody waits for an item
// as soon as it is over. Who waits is served in the order of asking.
//
// A client that names itself is remembered with its newest request, so that one that is sent again changes nothing and gets
// the same answer; of a pop those leases that are still valid. Memories of clients that have not asked for kMemory, while a
// node was there, are dropped.
//
// What changed is told by commands, each before the answers that follow from it.
//
// Threading:  confined to the node's loop (or a test).
// Ownership:  numbers and names; the bytes of items leave with KeepItem.
// Failure:    what cannot be is answered with a Status: kNotFound, kInvalidArgument.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "queue/lease_queue.h"
#include "queue/queue_commands.h"
#include "queue/queue_values.h"

namespace fray::queue {

class QueueTable {
 public:
  static constexpr std::chrono::minutes kMemory{10};

  // What nodes before this one kept; before any other call.
  void restore(const Kept& kept, Now now);

  // Answered by a command, at once or, of a pop that waits, later.
  void ask(AskId ask, Request request, Now now);
  // Nobody waits for this answer any more. Leases that the answer would have told of are not made.
  void withdraw(AskId ask);
  // Leases that are over go to those who wait; waits that are over end. Called at next_due(), if there is one.
  void tick(Now now);
  std::optional<Moment> next_due() const;

  std::vector<Command> take_commands();

  // Views, for tests.
  std::size_t waiter_count() const;
  std::size_t memory_count() const { return memories_.size(); }

 private:
  struct Waiter {
    AskId ask = 0;
    Caller caller;
    std::uint32_t most = 1;
    Moment lease_time{0};
    Moment until{0};
  };
  struct Queue {
    KeepQueue record;
    LeaseQueue items;
    std::list<Waiter> waiters;  // the first to be served first
  };
  struct Memory {
    KeepMemory kept;
    std::list<std::string>::iterator place;  // in order_
  };

  Queue* find(const std::string& name);
  bool repeat(AskId ask, const Request& request, Now now);
  void answer(AskId ask, Answer answer) { commands_.emplace_back(Answered{ask, Status::ok(), std::move(answer)}); }
  void fail(AskId ask, Status why) { commands_.emplace_back(Answered{ask, std::move(why), {}}); }
  void remember(const Caller& caller, KeepMemory memory, Now now);
  void forget_old(std::int64_t unix_ns);
  void keep_memory(KeepMemory memory);
  Number draw();

  void list(AskId ask, const Request& request, Now now);
  void make(AskId ask, const Request& request, Now now);
  void remove(AskId ask, Queue& queue, Now now);
  void purge(AskId ask, Queue& queue, const Request& request, Now now);
  void push(AskId ask, Queue& queue, Request& request, Now now);
  void peek(AskId ask, Queue& queue, Now now);
  void pop(AskId ask, Queue& queue, const Request& request, Now now);
  void end_leases(AskId ask, Queue& queue, const Request& request, Now now);
  bool end_lease(Queue& queue, Verb verb, std::string_view id);
  Answer give(Queue& queue, const Waiter& to, Now now);
  void serve(Queue& queue, Now now);
  void take_back(Queue& queue, Now now);  // and hands it to those who wait
  void withdraw_waiters_of(const std::string& client);
  QueueView view(const Queue& queue) const;

  Number next_ = 1;
  bool drawn_ = false;  // next_ has moved since the last commands
  std::map<std::string, Queue, std::less<>> queues_;
  std::unordered_map<std::string, Memory> memories_;
  std::list<std::string> order_;  // clients, the one that asked longest ago first
  std::vector<Command> commands_;
};

// "12-40" of item 12 on lease 40.
std::string lease_id(Number item, Number lease);

}  // namespace fray::queue
