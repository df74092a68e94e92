// WorkerStarts: starts the workers that the LeaseTable asks for, each once the environment of its key is made and the pause
// after a failed start is over, and tells the table how it went.
//
//   starts.begin(key);                      // the table has said StartWorker
//   while (starts.carry_out()) { ... }      // at the end of a round
//
// Threading:  the node's loop.
// Ownership:  owns the starts that wait; everything that it was made with must outlive it.
// Failure:    a start that fails is told to the table, which tries again or refuses the demands of the key; explain() gives
//             such a refusal its reason.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "event/loop.h"
#include "model/ids.h"
#include "node/sessions/roster.h"
#include "node/workers/worker_processes.h"
#include "scheduler/lease_table.h"
#include "wire/lease.h"

namespace fray::node {

class WorkerStarts {
 public:
  WorkerStarts(event::Loop& loop, Roster& roster, WorkerProcesses& processes, scheduler::LeaseTable& table)
      : loop_(loop), roster_(roster), processes_(processes), table_(table) {}

  void begin(WorkerKeyId key);
  // Starts the workers that wait for nothing. False: there were none.
  bool carry_out();
  // To be called when the environment of a key was made, or could not be made.
  void env_settled(WorkerKeyId base);
  // Starts that wait for the environment of a key have failed, because the key now rests.
  void give_up(WorkerKeyId base);

  // The step in which the making of the key's environment is; empty when it is not being made.
  std::string env_reason(WorkerKeyId key) const;
  // Adds to a refusal why workers of the key could not be started.
  void explain(WorkerKeyId key, wire::DemandRefused& refusal);
  // Environments whose failure was told in this round may be made anew in the next.
  void end_round();

 private:
  void start(WorkerKeyId key);

  event::Loop& loop_;
  Roster& roster_;
  WorkerProcesses& processes_;
  scheduler::LeaseTable& table_;
  std::vector<WorkerKeyId> ready_;
  std::map<WorkerKeyId, std::vector<WorkerKeyId>> without_env_;  // by the key whose environment is being made
  std::set<WorkerKeyId> told_envs_;                              // whose failure was told in this round
};

}  // namespace fray::node
