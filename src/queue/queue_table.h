// QueueTable: decides which items of queues are leased to which client, and when a lease ends.
//
//   table.ask(1, {.verb = Verb::kMake, .queue = "pages"}, now);
//   table.ask(2, {.verb = Verb::kPush, .queue = "pages", .items = {"a"}}, now);
//   table.take_commands();   // KeepQueue, Answered{1}, KeepItem, Answered{2}, KeepNext
//
// Rules (docs/decisions/0028). The item that was pushed first is leased first, however often it was leased before. An
// expired lease is taken back at the next pop, peek or count, and at once while a client waits for an item. Waiting
// clients are served in the order of their requests.
//
// The newest request of a client that names itself is remembered, so that a repetition of it changes nothing and gets
// the same answer; a repeated pop gets those leases that are still valid. The request is forgotten when the client has
// sent none for kMemory, which counts only time with a node.
//
// Changes are reported by commands, each before the answers that depend on it.
//
// Threading:  confined to the node's loop (or a test).
// Ownership:  numbers and names; the bytes of items leave with KeepItem.
// Failure:    a request that cannot be served is answered with a Status: kNotFound, kInvalidArgument.
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

  // Takes over the state of earlier nodes; must be the first call.
  void restore(const Kept& kept, Now now);

  // A command answers, at once or, for a pop that waits, later.
  void ask(AskId ask, Request request, Now now);
  // The client does not wait for this answer any more, so no lease is made for it.
  void withdraw(AskId ask);
  // Gives items of expired leases to waiting clients, and ends waits that are over. To be called at next_due().
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
  void take_back(Queue& queue, Now now);  // and leases the items to waiting clients
  void withdraw_waiters_of(const std::string& client);
  QueueView view(const Queue& queue) const;

  Number next_ = 1;
  bool drawn_ = false;  // next_ has changed since the last commands
  std::map<std::string, Queue, std::less<>> queues_;
  std::unordered_map<std::string, Memory> memories_;
  std::list<std::string> order_;  // clients, the one that asked longest ago first
  std::vector<Command> commands_;
};

// "12-40" of item 12 on lease 40.
std::string lease_id(Number item, Number lease);

}  // namespace fray::queue
