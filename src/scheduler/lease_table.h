// LeaseTable: decides which worker is leased to which client, and when workers start and stop.
//
//   table.client_joined(1);
//   table.demand_changed(1, {.demand = 0, .count = 2, .shape = {.resources = cpu(1)}});
//   for (Command& command : table.take_commands()) ...    // StartWorker{0}, StartWorker{0}
//
// Events go in through the methods below and those of supply(), jobs() and reservations(), commands come out of
// take_commands(); nothing else happens. Events only change the state; decisions are made in take_commands(), so the node
// calls it once after all events of one round of its loop.
//
// Rules (docs/concepts/scheduling.md): demands are served in the order of scheduler/reclaim_policy.h; the first that
// cannot be served keeps what it will need from those behind it. A blocked worker's resources are free; a resumed one
// takes them back even below zero, and what needs them is not granted until they are not. Which workers there are for
// that is the decision of scheduler/worker_supply.h.
//
// A dedicated lease is an actor's. It is asked for in the name of a home: a client without a process, one for each
// actor, below the actor's root. Its worker does not count towards max_workers, keeps its resources while it is blocked,
// is never asked back, and ends when the lease is returned. A dedicated demand for no resources is served before all
// others: with an idle worker of its key, else with a new one.
//
// Leases with devices (scheduler/device_table.h) are for workers of a device key; such a worker serves one lease.
//
// Threading:  confined to the node's loop (or a test).
// Ownership:  owns the state and the parts that decide on it.
// Failure:    events that contradict the state are ignored and counted (scheduler/lease_state.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/job_shares.h"
#include "scheduler/lease_state.h"
#include "scheduler/reservations.h"
#include "scheduler/worker_supply.h"

namespace fray::scheduler {

class LeaseTable {
 public:
  explicit LeaseTable(Limits limits) : state_(std::move(limits)) {}

  // Clients: drivers, workers once they are ready (a task may submit tasks), and homes of actors. `parent`: of a home,
  // the process to whose tree its worker and all below it belong; 0: a tree of its own.
  void client_joined(ProcessId client, ProcessId parent = 0) { state_.join(client, parent); }
  // The client's demands vanish and the workers that it leases are killed, because nobody is left who could take the
  // results of their tasks. A worker that is no client any more gets no further lease.
  void client_left(ProcessId client);
  void demand_changed(ProcessId client, DemandChange demand);

  // A StartWorker was carried out and the process has a number; ready when it said hello; failed when it could not
  // start. After WorkerTable::kStartAttempts failures in a row (death before ready is one) the key's demands are
  // refused.
  void worker_starting(ProcessId worker, WorkerKeyId key) { state_.note(state_.workers.starting(worker, key)); }
  void worker_ready(ProcessId worker) { state_.note(state_.workers.ready(worker)); }
  void start_failed(WorkerKeyId key) { state_.note(state_.workers.start_failed(key)); }
  void worker_blocked(ProcessId worker) { set_blocked(worker, true); }
  void worker_unblocked(ProcessId worker) { set_blocked(worker, false); }
  void worker_retiring(ProcessId worker);  // granted to nobody any more
  // Dead, for whatever reason; it has left as a client too. `unused`: nobody meant it to end, and neither it nor a living
  // worker of its key has run anything.
  void worker_left(ProcessId worker, bool unused = false);
  // A dedicated lease goes on until its worker, which is now told to end, has left.
  void lease_returned(ProcessId client, LeaseId lease);
  void lease_kill_asked(ProcessId client, LeaseId lease);

  // True when as far as the events tell no waiting demand can ever be met. A wake-up may still be on its way, so the
  // node calls deadlock_stood() only when this has been true without a break for a while (100 ms); that refuses one
  // demand. Actors are not looked at: a task may wait for one that works. So the node also has to see for itself that
  // no actor's worker that is not blocked runs a call.
  bool deadlock_suspected() const;
  void deadlock_stood();

  // The parts with events of their own.
  WorkerSupply& supply() { return supply_; }
  JobShares& jobs() { return jobs_; }
  Reservations& reservations() { return reservations_; }
  const Reservations& reservations() const { return reservations_; }

  // Sets the time, before the decisions of a round. Waiting demands gain priority by time alone, and idle workers are
  // stopped after some time, so the node also calls it at next_due(), if there is one.
  void tick(Moment now);
  std::optional<Moment> next_due() const { return next_due_; }
  std::vector<Command> take_commands();

  // Views for status and for tests.
  const LeaseState& state() const { return state_; }
  const ResourceSet& free() const { return state_.ledger.free(); }  // may be negative
  const WorkerTable& workers() const { return state_.workers; }
  const LeaseLedger& ledger() const { return state_.ledger; }

 private:
  void set_blocked(ProcessId worker, bool blocked);
  void refuse_given_up();
  void grant_all();
  bool grant_first();
  void grant(const Demand& demand, ProcessId worker);
  void reclaim();

  LeaseState state_;
  WorkerSupply supply_{state_};
  JobShares jobs_{state_};
  Reservations reservations_{state_};
  std::optional<Moment> next_due_;
};

}  // namespace fray::scheduler
