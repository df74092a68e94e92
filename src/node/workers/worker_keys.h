// WorkerKeys: which worker keys there are: what clients call them, which are in use, and which are let go.
//
//   WorkerKeyId key = keys.define(client, 3, description);    // the client calls it 3
//   if (keys.take_change()) keys.let_go();                    // before the decisions of a round
//   ...
//   keys.forget_unused();                                     // and after them
//
// A key that nobody has used for a while is let go: its fork server and its idle workers end, and the key rests. A key that
// no client has defined any more is forgotten once it rests. Which key is let go is the decision of scheduler/key_keeper.h.
//
// Threading:  the node's loop.
// Ownership:  owns the definitions; everything that it was made with must outlive it.
// Failure:    a number that a client has not defined is answered with a Status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/status.h"
#include "event/loop.h"
#include "model/ids.h"
#include "node/sessions/roster.h"
#include "node/workers/worker_processes.h"
#include "node/workers/worker_starts.h"
#include "scheduler/key_keeper.h"
#include "scheduler/lease_table.h"

namespace fray::node {

class WorkerKeys {
 public:
  WorkerKeys(event::Loop& loop, const Roster& roster, WorkerProcesses& processes, WorkerStarts& starts,
             scheduler::WorkerSupply& supply)
      : loop_(loop), roster_(roster), processes_(processes), starts_(starts), supply_(supply) {}

  // A client defines a key under a number of its own; number 0 is the key of workers like the client itself.
  WorkerKeyId define(ProcessId client, std::uint32_t number, const wire::WorkerKey& description);
  // Number 0 of a worker, or of an actor's home, whose key is known already.
  void define_own(ProcessId process, WorkerKeyId key);
  Result<WorkerKeyId> find(ProcessId client, std::uint32_t number) const;
  void forget(ProcessId client, std::uint32_t number);
  void client_left(ProcessId client);
  std::size_t size() const { return definitions_.size(); }  // keys that are defined, each counted once

  // To be called when a demand of the key arrives: the workers of a key that was let go are not ended any further.
  void use_again(WorkerKeyId key);
  // An actor uses its key from its first demand to its end, because it may need another worker when its own has ended.
  void actor_begins(WorkerKeyId key) { ++actors_[key]; }
  void actor_ends(WorkerKeyId key);
  // Notes that a key may have gone out of use since the last decision.
  void note_change() { changed_ = true; }

  // Whether a change was noted since the last call.
  bool take_change() { return std::exchange(changed_, false); }
  // Lets go of the keys that have been out of use for long enough.
  void let_go();
  // Lets the keys rest that were let go and have no worker left, and forgets the resting keys that are not defined.
  void forget_unused();

 private:
  using Name = std::pair<ProcessId, std::uint32_t>;  // a client, and the number that it gave to a key

  void undefine(WorkerKeyId key);
  void set_unused(WorkerKeyId key, bool unused);
  void forget_in_supply(WorkerKeyId key);
  void watch_clock(std::uint64_t now_ns);
  std::set<WorkerKeyId> in_use() const;

  event::Loop& loop_;
  const Roster& roster_;
  WorkerProcesses& processes_;
  WorkerStarts& starts_;
  scheduler::WorkerSupply& supply_;
  std::map<Name, WorkerKeyId> keys_;
  std::map<WorkerKeyId, std::size_t> definitions_;  // how many names each key has
  std::map<WorkerKeyId, std::size_t> actors_;       // how many actors use each key
  scheduler::KeyKeeper keeper_;
  std::set<WorkerKeyId> ending_;     // keys that were let go; they rest when their workers are gone
  std::set<WorkerKeyId> undefined_;  // keys without a definition; they are forgotten when they rest
  bool changed_ = false;
  event::TimerId timer_ = 0;  // the round after it looks for keys that were kept long enough
};

}  // namespace fray::node
