// LeaseState: what the decisions about leases share: who waits, which workers and leases there are, what is to be done.
//
// Threading:  confined to the LeaseTable that owns it.
// Ownership:  values only; refers to processes and leases by number.
// Failure:    events that contradict the state (a lease returned twice, an unknown worker) are ignored and counted: a peer
//             may be wrong or late, and must not bring the node down.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "scheduler/demand_queue.h"
#include "scheduler/device_table.h"
#include "scheduler/lease_commands.h"
#include "scheduler/lease_ledger.h"
#include "scheduler/worker_table.h"

namespace fray::scheduler {

struct Limits {
  ResourceSet total;               // what the node owns
  std::uint32_t max_workers = 32;  // living workers at once, starting ones included, those of actors not
};

struct LeaseState {
  explicit LeaseState(Limits given) : limits(std::move(given)), ledger(limits.total), devices(limits.total) {}
  LeaseState(const LeaseState&) = delete;  // the parts of a LeaseTable refer to it

  void contradict() { ++contradictions; }
  // There is something to decide; `agrees`: the event does not contradict the state.
  void note(bool agrees) {
    changed = true;
    if (!agrees) contradict();
  }
  // A process from which demands may come. `parent` as in LeaseTable::client_joined.
  void join(ProcessId client, ProcessId parent);
  // An idle worker is told to end; a leased one is killed.
  void stop(ProcessId worker, bool kill);
  void refuse(Demand& demand, StatusCode code, std::string reason);

  // How many more workers could be leased. Idle workers are counted in, because they can be stopped to make room for
  // those of other keys.
  std::int64_t places() const;
  // Whether the demand's workers cannot be started, and none of them is left or on its way.
  bool is_hopeless(const Demand& demand) const {
    return !demand.wanted.needs_no_worker && workers.is_hopeless(demand.key());
  }
  // Whether tasks that the worker submitted run or wait.
  bool works_as_client(ProcessId worker) const;

  Limits limits;
  std::set<ProcessId> clients;
  DemandQueue demands;
  WorkerTable workers;
  LeaseLedger ledger;
  DeviceTable devices;
  std::set<ProcessId> served;  // workers with devices whose lease has ended, while tasks of their own go on
  Moment now{0};
  std::vector<Command> commands;
  std::uint64_t contradictions = 0;
  bool changed = false;
};

}  // namespace fray::scheduler
