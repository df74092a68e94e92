// QueueWorld: a simulation of a node with queues and of their clients, which drives a real QueueTable through one
// seeded schedule.
//
// Clients push and pop items, wait for items, report items as done, release leases and purge queues; some clients
// vanish while they hold leases. The decisions of the table reach the disk some time later, in order, and the node
// sends its answers only then. Some answers are lost, and the client repeats its request. The node may be killed at any
// moment: the new node then knows only what was on the disk.
//
// The simulation checks the following. An item whose push was acknowledged is handed out until a client has reported it
// as done, and never after that report was acknowledged. A repeated push adds no second item. No client gets an item on
// which another client has a valid lease. The table accepts a valid lease, and refuses one that was taken over. Items
// are handed out in the order of their pushes. No client waits while an item waits. A client that has left gets no
// item. A restarted node has the state of the node before it.
//
// Threading:  one thread.
// Ownership:  owns everything it simulates.
// Failure:    throws SimulationViolation.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/sim/simulation.h"
#include "queue/queue_table.h"

namespace fray::queue {

class QueueWorld {
 public:
  QueueWorld(std::uint64_t seed, SimulationLog& log);
  void run();
  static void list_possible(SimulationLog& log);

 private:
  struct Held {
    std::string text;
    std::string lease_id;
  };
  struct Pending {
    Request request;
    AskId ask = 0;  // 0: the request or its answer was lost, and the request must be sent again
    int sent = 0;
  };
  struct Client {
    std::string name;
    std::string queue;
    std::uint64_t sequence = 0;
    std::optional<Pending> pending;
    std::vector<Held> held;
  };
  // What the clients know of an item.
  struct Fate {
    std::set<Number> numbers;
    bool pushed = false;       // the push was acknowledged
    bool may_be_gone = false;  // a client has asked to end or purge the item
    bool gone = false;         // that was acknowledged
    std::string lease_id;      // the newest lease of which a client was told
    std::int64_t lease_begun = 0;
    std::int64_t lease_ends = 0;
    bool lease_may_be_over = false;  // the holder has asked to end the lease
  };
  struct Disk {
    Number next = 1;
    std::map<Number, KeepQueue> queues;
    std::map<Number, KeepItem> items;
    std::map<Number, KeepLease> leases;
    std::map<std::string, KeepMemory> memories;
  };

  void act();
  void begin(Client& client, Request request);
  void send(Client& client);
  void collect();
  void commit(std::size_t batches);
  bool is_answered(AskId ask) const;
  void apply(const Command& command);
  void deliver(const Answered& answered);
  void pushed(const Request& request, const Answer& answer);
  void given(Client& client, const Request& request, const Answer& answer);
  void ended(Client& client, const Request& request, const Answer& answer);
  void kill_node();
  void vanish(Client& client);
  void compare_with_disk();
  void drain();
  Kept kept() const;
  Now now() const { return {steady_, unix_ns_}; }
  void pass(Moment time);
  Request request_of(Client& client);
  void check(bool holds, const std::string& what) const;

  SimulationRandom random_;
  SimulationLog& log_;
  std::unique_ptr<QueueTable> table_;
  Disk disk_;
  std::deque<std::vector<Command>> unkept_;  // each batch reaches the disk as a whole
  Moment steady_{1};
  std::int64_t unix_ns_ = 1'000'000'000'000'000'000;
  AskId last_ask_ = 0;
  std::uint32_t texts_ = 0;
  std::uint32_t names_ = 0;
  std::vector<Client> clients_;
  std::map<std::string, Fate> fates_;             // by the item's text
  std::map<std::string, std::string> lease_ids_;  // text by lease id
  std::set<AskId> left_;                          // requests for whose answers no client waits
};

}  // namespace fray::queue
