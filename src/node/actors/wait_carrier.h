// WaitCarrier: keeps the waits that clients tell the node of, and ends one wait of each circle with a DeadlockError.
//
// When the WaitGraph finds a circle, some of its waits may have ended meanwhile. So the node asks the processes
// concerned (kProbeWaits), which read their sockets and tell their waits anew. Only when all of them were told again,
// unchanged, is there a circle; the wait that closed it is refused.
//
// Threading:  the node's loop.
// Ownership:  owns the graph; roster and the table of actors must outlive it.
// Failure:    while a process does not answer the probe, it is not known whether there is a circle, and no wait is refused.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "actor/actor_table.h"
#include "actor/wait_graph.h"
#include "node/sessions/roster.h"
#include "wire/call_wait.h"

namespace fray::node {

class WaitCarrier {
 public:
  WaitCarrier(Roster& roster, const actor::ActorTable& actors) : roster_(roster), actors_(actors) {}

  void waits(ProcessId process, std::uint64_t wait, wire::CallWaits message);
  void ended(ProcessId process, std::uint64_t wait);
  void process_left(ProcessId process);
  // To be called once a round.
  void carry_out();

 private:
  void suspect(std::set<actor::WaitKey> suspects);
  void refuse_one(const std::set<actor::WaitKey>& stuck);
  std::string describe(const std::vector<actor::WaitStep>& circle) const;
  std::string name_of(const actor::WaitKey& key) const;
  ProcessId worker_of(const ActorId& actor) const;

  Roster& roster_;
  const actor::ActorTable& actors_;
  actor::WaitGraph graph_;
  bool changed_ = false;
  std::set<actor::WaitKey> suspects_;
  std::set<actor::WaitKey> unconfirmed_;  // of these
  std::uint64_t probe_ = 0;
};

}  // namespace fray::node
