// LeaseCarrier: carries out what the LeaseTable decides: starts and stops workers, hands out leases, and tells clients
// of lost workers and refused demands.
//
// Commands are carried out once a round of the loop, after the table was told of everything that was read in the round.
// So the table decides on all demands of a round together, and not in the order in which sockets happened to be read.
//
// Threading:  the node's loop.
// Ownership:  owns the table; roster and processes must outlive it.
// Failure:    a lease that cannot be handed out (no descriptors left) is refused with the reason, like a demand whose
//             workers cannot be started.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "event/loop.h"
#include "model/device_set.h"
#include "node/sessions/roster.h"
#include "node/workers/device_names.h"
#include "node/workers/worker_processes.h"
#include "scheduler/key_keeper.h"
#include "scheduler/lease_table.h"
#include "wire/demand.h"
#include "wire/lease.h"

namespace fray::node {

// How what waits for its environment goes on.
inline constexpr const char* kEnvWayOn =
    "It starts when its environment is made; `fray env list` shows those that are.";

class LeaseCarrier {
 public:
  LeaseCarrier(event::Loop& loop, Roster& roster, WorkerProcesses& processes, scheduler::Limits limits,
               DeviceNames device_names);

  // `job`: the home of the job that it is a process of; 0: none.
  void client_joined(ProcessId client, ProcessId job = 0) { table_.client_joined(client, job); }
  void client_left(ProcessId client);
  void worker_ready(ProcessId worker);
  void worker_gone(ProcessId worker, bool expected, const wire::ExitFacts& facts);

  // Messages of clients. A Status that is not ok ends the connection: the message contradicts the protocol.
  Status define_key(ProcessId client, const wire::DefineKey& message);
  void forget_key(ProcessId client, std::uint32_t number);
  Status demand(ProcessId client, const wire::Demand& message);
  void return_lease(ProcessId client, LeaseId lease);
  void kill_lease(ProcessId client, LeaseId lease) { table_.lease_kill_asked(client, lease); }
  void lease_broken(ProcessId client, LeaseId lease);
  void blocked(ProcessId worker) { table_.worker_blocked(worker); }
  void unblocked(ProcessId worker) { table_.worker_unblocked(worker); }
  void retiring(ProcessId worker);

  // Where leases of homes of actors (scheduler/lease_table.h) are reported.
  struct Homes {
    std::function<void(ProcessId home, LeaseId lease, ProcessId worker)> granted;
    std::function<void(ProcessId home, StatusCode code, const std::string& reason)> refused;
  };
  void set_homes(Homes homes) { homes_events_ = std::move(homes); }
  // Keeps a key until close_home(), even when its client forgets it.
  void keep_key(ProcessId home, WorkerKeyId key);
  void demand_for_home(ProcessId home, ProcessId root, WorkShape shape);
  void close_home(ProcessId home);
  // Jobs (scheduler/job_shares.h).
  DeviceSet job_started(ProcessId home, const ResourceSet& resources) { return table_.job_started(home, resources); }
  void job_waits(ProcessId home, bool begins) { table_.job_waits(home, begins); }
  void job_ended(ProcessId home) { table_.job_ended(home); }
  // Reservations.
  void set_aside(ProcessId home, ProcessId root, const ResourceSet& resources, const ResourceSet& offered) {
    table_.set_aside(home, root, resources, offered);
  }
  void put_back(ProcessId home) { table_.put_back(home); }
  Result<WorkerKeyId> key_of(ProcessId client, std::uint32_t number) const;
  // Announces that an event loop will run the calls of an actor with a worker of this key, so that fork servers load
  // what event loops need.
  void expect_loop(WorkerKeyId key) { processes_.expect_loop(key); }

  void carry_out();
  // To be called when the environment of a worker key was made, or could not be made.
  void env_settled(WorkerKeyId key);
  std::size_t known_keys() const { return definitions_.size(); }  // that clients or homes have named
  // The state of the environment that a demand waits for; empty: it waits for none.
  std::string env_reason(ProcessId client, std::uint32_t demand) const;

  const scheduler::LeaseTable& table() const { return table_; }
  void memory_is_scarce(bool scarce) { table_.memory_is_scarce(scarce); }
  // The driver at the root of a process's tree, or the first process on the way there for which `is_root` is true; 0
  // when that is gone.
  ProcessId root_of(ProcessId process, const std::function<bool(ProcessId)>& is_root = nullptr) const;

 private:
  struct Loss {
    bool expected = false;
    wire::ExitFacts facts;
  };

  // The client that a worker works for or worked for last; 0: none.
  ProcessId last_client(ProcessId worker) const;
  void carry_out(const scheduler::StartWorker& command);
  void carry_out(const scheduler::StopWorker& command);
  void carry_out(const scheduler::GrantLease& command);
  void carry_out(const scheduler::ReclaimLeases& command);
  void carry_out(const scheduler::LeaseLost& command);
  void carry_out(const scheduler::RefuseDemand& command);
  void end_unreachable(ProcessId client, LeaseId lease);
  void start_worker(WorkerKeyId key);
  void answer_starts(WorkerKeyId base);
  bool an_actor_works() const;
  void watch_for_deadlock();
  static scheduler::Moment now();
  void watch_clock();
  void bind_devices(const scheduler::GrantLease& command);
  void let_go_of_keys();
  std::set<WorkerKeyId> keys_in_use() const;
  void undefine(WorkerKeyId key);
  void forget_home_key(ProcessId home);
  void forget_keys();
  void use_again(WorkerKeyId key);

  event::Loop& loop_;
  Roster& roster_;
  WorkerProcesses& processes_;
  scheduler::LeaseTable table_;
  const DeviceNames device_names_;
  std::map<std::pair<ProcessId, std::uint32_t>, WorkerKeyId> keys_;         // by client and its own number
  std::map<std::pair<ProcessId, std::uint32_t>, WorkerKeyId> demand_keys_;  // by client and demand
  std::unordered_map<ProcessId, ProcessId> last_clients_;                   // by worker
  std::unordered_map<ProcessId, Loss> losses_;                              // by worker, until told
  std::vector<WorkerKeyId> starts_;                                         // to be carried out at the round's end
  std::map<WorkerKeyId, std::vector<WorkerKeyId>> starts_without_env_;  // by the key whose environment is being made
  std::set<WorkerKeyId> told_envs_;                                     // whose failure was told in this round
  std::unordered_set<ProcessId> homes_;
  std::map<WorkerKeyId, std::uint32_t> keys_of_homes_;  // how many homes use each
  Homes homes_events_;
  event::TimerId deadlock_timer_ = 0;
  event::TimerId clock_timer_ = 0;  // the round after it decides anew
  scheduler::Moment clock_due_{0};
  std::map<WorkerKeyId, std::size_t> definitions_;        // how many in keys_ and home_keys_ are of each key
  std::unordered_map<ProcessId, WorkerKeyId> home_keys_;  // by home
  scheduler::KeyKeeper key_keeper_;
  std::set<WorkerKeyId> ending_keys_;     // let go; they rest when their workers are gone
  std::set<WorkerKeyId> undefined_keys_;  // in no definition; forgotten when they rest
  bool keys_changed_ = false;
  event::TimerId keys_timer_ = 0;
};

}  // namespace fray::node
