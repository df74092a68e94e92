// QueueWorld: a node that keeps queues, and clients in miniature, to drive a real QueueTable through one seeded
// schedule.
//
// Clients push, pop, wait, are done, release, purge; some vanish with what they hold. What the table decides reaches
// the disk some time later, in order, and only then the answers leave; some are lost on their way, and the request is
// sent again. The node is killed at any moment: what was not on the disk is as if it had not happened.
//
// Checked: an item whose push was acknowledged is handed out until somebody is done with it, and never again after that
// was acknowledged; a push that was repeated adds nothing; nobody gets an item on which somebody else has a valid
// lease; a valid lease is accepted, one that was taken over is not; items come in the order of pushes; no client waits
// while an item waits; a client that left gets nothing; a restarted node has the state of the one before it.
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
    AskId ask = 0;  // 0: it was lost, and is to be sent again
    int sent = 0;
  };
  struct Client {
    std::string name;
    std::string queue;
    std::uint64_t sequence = 0;
    std::optional<Pending> pending;
    std::vector<Held> held;
  };
  // What is known of an item from outside.
  struct Fate {
    std::set<Number> numbers;
    bool pushed = false;       // acknowledged
    bool may_be_gone = false;  // done or purged, as far as was asked
    bool gone = false;         // acknowledged
    std::string lease_id;      // the newest that was told of
    std::int64_t lease_begun = 0;
    std::int64_t lease_ends = 0;
    bool lease_may_be_over = false;  // its holder has asked for its end
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
  std::deque<std::vector<Command>> unkept_;  // each is kept as a whole
  Moment steady_{1};
  std::int64_t unix_ns_ = 1'000'000'000'000'000'000;
  AskId last_ask_ = 0;
  std::uint32_t texts_ = 0;
  std::uint32_t names_ = 0;
  std::vector<Client> clients_;
  std::map<std::string, Fate> fates_;             // by the item's text
  std::map<std::string, std::string> lease_ids_;  // text by lease id
  std::set<AskId> left_;                          // nobody waits for these
};

}  // namespace fray::queue
