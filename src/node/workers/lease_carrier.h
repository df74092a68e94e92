// LeaseCarrier: carries out what the LeaseTable decides: hands out leases, stops workers, and tells clients of lost workers
// and refused demands. WorkerStarts starts the workers, and WorkerKeys knows the worker keys that clients name.
//
// Commands are carried out once a round of the loop, after the table was told of everything that was read in the round.
// So the table decides on all demands of a round together, and not in the order in which sockets happened to be read.
//
// Threading:  the node's loop.
// Ownership:  owns the table and both parts; roster and processes must outlive it.
// Failure:    a lease that cannot be handed out (no descriptors left) is refused with the reason, like a demand whose
//             workers cannot be started.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "event/loop.h"
#include "node/sessions/roster.h"
#include "node/workers/device_names.h"
#include "node/workers/worker_keys.h"
#include "node/workers/worker_processes.h"
#include "node/workers/worker_starts.h"
#include "scheduler/lease_table.h"
#include "wire/demand.h"
#include "wire/lease.h"

namespace fray::node {

// The `way_on` of what waits for an environment (model/wait_reason.h).
inline constexpr const char* kEnvWayOn =
    "It starts when its environment is made; `fray env list` shows those that are.";

class LeaseCarrier {
 public:
  // What is told of the leases of homes of actors (scheduler/lease_table.h).
  struct Homes {
    std::function<void(ProcessId home, LeaseId lease, ProcessId worker)> granted;
    std::function<void(ProcessId home, StatusCode code, const std::string& reason)> refused;
  };

  LeaseCarrier(event::Loop& loop, Roster& roster, WorkerProcesses& processes, scheduler::Limits limits,
               DeviceNames device_names, Homes homes);

  // Processes. `job`: the home of the job that a client is a process of; 0: none.
  void client_joined(ProcessId client, ProcessId job = 0) { table_.client_joined(client, job); }
  void client_left(ProcessId client);
  void worker_ready(ProcessId worker);
  void worker_gone(ProcessId worker, WorkerEnd end, const wire::ExitFacts& facts);
  void blocked(ProcessId worker) { table_.worker_blocked(worker); }
  void unblocked(ProcessId worker) { table_.worker_unblocked(worker); }
  void retiring(ProcessId worker);
  // The driver at the root of a process's tree, or the first process on the way there for which `is_root` is true; 0
  // when that process is gone.
  ProcessId root_of(ProcessId process, const std::function<bool(ProcessId)>& is_root = nullptr) const;

  // Messages of clients. A Status that is not ok ends the connection: the message contradicts the protocol.
  Status define_key(ProcessId client, const wire::DefineKey& message);
  void forget_key(ProcessId client, std::uint32_t number) { keys_.forget(client, number); }
  Status demand(ProcessId client, const wire::Demand& message);
  void return_lease(ProcessId client, LeaseId lease);
  void kill_lease(ProcessId client, LeaseId lease) { table_.lease_kill_asked(client, lease); }
  void lease_broken(ProcessId client, LeaseId lease);

  // Homes of actors. A home keeps its worker key until it is closed, even when the client that defined the key forgets it.
  // With `event_loop`, the actor's calls run in one.
  void open_home(ProcessId home, WorkerKeyId key, bool event_loop);
  void demand_for_home(ProcessId home, ProcessId root, WorkShape shape);
  void close_home(ProcessId home);

  // To be called once a round.
  void carry_out();
  // To be called when the environment of a worker key was made, or could not be made.
  void env_settled(WorkerKeyId key);
  // The state of the environment that a demand waits for; empty: it waits for none.
  std::string env_reason(ProcessId client, std::uint32_t demand) const;

  scheduler::JobShares& jobs() { return table_.jobs(); }
  scheduler::Reservations& reservations() { return table_.reservations(); }
  void memory_is_scarce(bool scarce) { table_.supply().memory_is_scarce(scarce); }
  const scheduler::LeaseTable& table() const { return table_; }
  const WorkerKeys& keys() const { return keys_; }

 private:
  struct Loss {
    bool expected = false;
    wire::ExitFacts facts;
  };

  void carry_out(const scheduler::StartWorker& command) { starts_.begin(command.key); }
  void carry_out(const scheduler::StopWorker& command);
  void carry_out(const scheduler::GrantLease& command);
  void carry_out(const scheduler::ReclaimLeases& command);
  void carry_out(const scheduler::LeaseLost& command);
  void carry_out(const scheduler::RefuseDemand& command);
  void end_unreachable(ProcessId client, LeaseId lease);
  bool an_actor_works() const;
  void watch_for_deadlock();
  static scheduler::Moment now();
  void watch_clock();
  void bind_devices(const scheduler::GrantLease& command);

  event::Loop& loop_;
  Roster& roster_;
  WorkerProcesses& processes_;
  scheduler::LeaseTable table_;
  WorkerStarts starts_;
  WorkerKeys keys_;
  const DeviceNames device_names_;
  const Homes on_homes_;
  std::unordered_map<ProcessId, WorkerKeyId> homes_;       // those that have asked for a worker, with its key
  std::unordered_map<ProcessId, ProcessId> last_clients_;  // the last one of each worker, and the root of each home
  std::unordered_map<ProcessId, Loss> losses_;             // of this round, by worker
  event::TimerId deadlock_timer_ = 0;
  event::TimerId clock_timer_ = 0;  // the round after it decides anew
  scheduler::Moment clock_due_{0};
};

}  // namespace fray::node
