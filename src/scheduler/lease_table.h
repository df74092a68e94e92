// LeaseTable: decides which worker is leased to which client, and when workers start and stop.
//
//   table.client_joined(1);
//   table.demand_changed(1, {.demand = 0, .count = 2, .shape = {.resources = cpu(1)}});
//   for (Command& command : table.take_commands()) ...    // StartWorker{0}, StartWorker{0}
//
// Events go in through the methods below, commands come out of take_commands(); nothing else happens. Events only
// change the state; decisions are made in take_commands(), so the node calls it once after all events of one round of
// its loop.
//
// Rules (docs/concepts/scheduling.md): demands are served in the order of scheduler/reclaim_policy.h; the first that
// cannot be served keeps what it will need from those behind it. A blocked worker's resources are free; a resumed one
// takes them back even below zero, and what needs them is not granted until they are not. Workers are started for
// demands whose resources are there, never more than max_workers; to stay below, idle workers of another key are
// stopped. A worker that dies with a lease is replaced before a demand comes, because its tasks are about to be tried
// again. Idle workers beyond what CPUs could use are stopped after a minute, or when memory becomes scarce, unless tasks
// that they submitted still run.
//
// A dedicated lease is an actor's. It is asked for in the name of a home: a client without a process, one for each
// actor, below the actor's root. Its worker does not count towards max_workers, keeps its resources while it is blocked,
// is never asked back, and ends when the lease is returned. A dedicated demand for no resources is served before all
// others: with an idle worker of its key, else with a new one.
//
// A reservation (model/reservation.h) is a dedicated lease without a worker. It is served in turn, as an actor is; from
// then on what it offers is free, and is there to be asked for from the beginning.
//
// Leases with devices (scheduler/device_table.h) are for workers of a device key; such a worker serves one lease.
//
// Threading:  confined to the node's loop (or a test).
// Ownership:  values only; refers to processes and leases by number.
// Failure:    events that contradict the state (a lease returned twice, an unknown worker) are ignored and counted in
//             contradictions(): a peer may be wrong or late, and must not bring the node down.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/ids.h"
#include "model/resource_set.h"
#include "model/wait_reason.h"
#include "scheduler/demand_queue.h"
#include "scheduler/device_table.h"
#include "scheduler/job_shares.h"
#include "scheduler/lease_commands.h"
#include "scheduler/lease_ledger.h"
#include "scheduler/worker_table.h"

namespace fray::scheduler {

struct Limits {
  ResourceSet total;               // what the node owns
  std::uint32_t max_workers = 32;  // living workers at once, starting ones included, those of actors not
};

// Why a demand waits, and how it goes on, for `fray status`.
struct Waiting {
  ProcessId client = 0;
  std::uint32_t demand = 0;
  std::uint32_t count = 0;
  WorkShape shape;
  bool dedicated = false;
  Moment since{0};  // it waits since then, or since it last got a lease
  std::string reason;
  std::string way_on;
};

class LeaseTable {
 public:
  explicit LeaseTable(Limits limits);

  // Clients: drivers, workers once they are ready (a task may submit tasks), and homes of actors. `parent`: of a home,
  // the process to whose tree its worker and all below it belong; 0: a tree of its own.
  void client_joined(ProcessId client, ProcessId parent = 0);
  // The client's demands vanish and the workers that it leases are killed, because nobody is left who could take the
  // results of their tasks. A worker that is no client any more gets no further lease.
  void client_left(ProcessId client);
  void demand_changed(ProcessId client, const DemandChange& demand);
  // Starts up to `count` workers of this key before there is a demand for them, but not more than the CPUs could use.
  void prestart(WorkerKeyId key, std::uint32_t count);

  // Keys that a demand waits for, that workers are leased for, or that have some on their way.
  std::set<WorkerKeyId> keys_in_use() const;
  // No idle workers of this key are kept any more, until it is used again; once they are gone, it can be forgotten.
  void key_unused(WorkerKeyId key, bool unused);
  void forget_key(WorkerKeyId key);

  // A StartWorker was carried out and the process has a number; ready when it said hello; failed when it could not
  // start. After WorkerTable::kStartAttempts failures in a row (death before ready is one) the key's demands are
  // refused.
  void worker_starting(ProcessId worker, WorkerKeyId key);
  void worker_ready(ProcessId worker);
  void start_failed(WorkerKeyId key);
  void worker_blocked(ProcessId worker);
  void worker_unblocked(ProcessId worker);
  void worker_retiring(ProcessId worker);  // granted to nobody any more
  void worker_left(ProcessId worker);      // dead, for whatever reason; it has left as a client too
  // A dedicated lease goes on until its worker, which is now told to end, has left.
  void lease_returned(ProcessId client, LeaseId lease);
  void lease_kill_asked(ProcessId client, LeaseId lease);

  // True when as far as the events tell no waiting demand can ever be met. A wake-up may still be on its way, so the
  // node calls deadlock_stood() only when this has been true without a break for a while (100 ms); that reports one
  // demand. Actors are not looked at: a task may wait for one that works. So the node also has to see for itself that
  // none of unblocked_dedicated() runs a call.
  bool deadlock_suspected() const;
  void deadlock_stood();
  std::vector<ProcessId> unblocked_dedicated() const;  // workers

  // A job holds resources in the name of a home, below which its processes join as clients (scheduler/job_shares.h). What
  // it holds may push what is free below zero, as a resumed lease does.
  DeviceSet job_started(ProcessId home, const ResourceSet& resources);
  void job_waits(ProcessId home, bool begins);
  void job_ended(ProcessId home);
  // What jobs may take that have not started. The tasks of jobs come before them; those of other programs do not keep
  // CPUs from them, as a flood of tasks would for ever.
  ResourceSet room_for_jobs() const;

  // Reservations, each in the name of a home. What waits for something of one that ends is refused, and what holds
  // something of it is killed.
  void set_aside(ProcessId home, ProcessId parent, const ResourceSet& resources, const ResourceSet& offered);
  void put_back(ProcessId home);
  bool is_reserved(ProcessId home) const;

  // Idle workers that the CPUs could not use are kept for a while, but not while memory is scarce.
  void memory_is_scarce(bool scarce);

  // Sets the time, before the decisions of a round. Waiting demands gain priority by time alone, and idle workers are
  // stopped after some time, so the node also calls it at next_due(), if there is one.
  void tick(Moment now);
  std::optional<Moment> next_due() const { return next_due_; }
  std::vector<Command> take_commands();

  // Views for status and for tests.
  const ResourceSet& free() const { return ledger_.free(); }  // may be negative
  std::vector<Waiting> waiting() const;
  WaitReason why_waiting(ProcessId client) const;  // its first demand; empty when it has none
  std::uint64_t contradictions() const { return contradictions_; }
  const WorkerTable& workers() const { return workers_; }
  const LeaseLedger& ledger() const { return ledger_; }
  const DeviceTable& devices() const { return devices_; }

 private:
  static constexpr std::size_t kRecentKeys = 4;  // idle workers of so many keys are kept
  // Those that the CPUs could not use: programs that wait for many tasks at once do so again and again.
  static constexpr Moment kKeepSurplus = std::chrono::minutes(1);

  void contradict() { ++contradictions_; }
  void lend_what_jobs_hold();
  void refuse_given_up();
  std::vector<Demand*> servable();
  void grant_all();
  bool grant_first();
  void grant(const Demand& demand, ProcessId worker);
  void grant_reservation(const Demand& demand);
  void refuse_unreserved(Demand& demand);
  bool is_hopeless(WorkerKeyId key) const;
  void start_for_demands();
  bool lacks_worker(WorkerKeyId key);
  bool make_room(const std::map<WorkerKeyId, std::uint32_t>& needed);
  void start_for_prestart();
  void replace_lost();
  std::optional<Moment> stop_surplus();  // when it is to be looked at again
  void stop_served();
  bool works_as_client(ProcessId worker) const;
  bool waits_in_vain(const Demand& demand) const;
  void stop(ProcessId worker, bool kill);
  void start(WorkerKeyId key);
  void reclaim();
  std::uint32_t cpus() const;
  std::int64_t places() const;
  WaitReason reason(const Demand& demand) const;

  Limits limits_;
  DemandQueue demands_;
  WorkerTable workers_;
  LeaseLedger ledger_;
  DeviceTable devices_;
  JobShares jobs_;
  struct Reservation {
    ResourceSet offered;
    LeaseId lease = 0;  // 0: it waits
  };
  std::map<ProcessId, Reservation> reservations_;  // by home
  std::set<ProcessId> served_;  // workers with devices whose lease has ended, while tasks of their own go on
  std::set<ProcessId> clients_;
  std::map<WorkerKeyId, std::uint32_t> prestarts_;
  std::vector<WorkerKeyId> lost_;  // keys of workers that died with a lease, since the last decision
  std::set<WorkerKeyId> unused_keys_;
  bool memory_is_scarce_ = false;
  std::map<WorkerKeyId, std::uint32_t>
      needed_;                          // workers that demands with resources could use, as of the last decision
  std::uint32_t needed_dedicated_ = 0;  // of these, dedicated ones
  std::vector<Command> commands_;
  std::uint64_t contradictions_ = 0;
  Moment now_{0};
  std::optional<Moment> next_due_;
  bool changed_ = false;
};

}  // namespace fray::scheduler
