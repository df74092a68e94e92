// AuditedLeaseTable: a LeaseTable whose commands the simulator checks against records of its own.
//
// Every event goes to the table and into the records, and every command of the table is checked: a granted worker is
// ready, idle and of the right key, its resources were free, the demand existed, the limit of workers holds, and a lost
// lease is reported to its client once. The resources that the table calls free must equal those of the records.
// Dedicated leases do not count towards the limit, keep their resources, are never reclaimed, and end with their
// worker. A reservation takes all that it asks for at once, when that is free; once it has aged, what its own tree asks for
// does not overtake it for ever; when it has ended, what waits for something of it is refused and what holds it is killed.
//
// Threading:  one thread.
// Ownership:  owns the table.
// Failure:    throws SimulationViolation.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sim/simulation.h"
#include "scheduler/lease_table.h"

namespace fray::scheduler {

class AuditedLeaseTable {
 public:
  AuditedLeaseTable(Limits limits, SimulationLog& log);

  void client_joined(ProcessId client, ProcessId parent = 0);
  void client_left(ProcessId client);
  void demand_changed(ProcessId client, const DemandChange& demand);
  void worker_starting(ProcessId worker, WorkerKeyId key);
  void worker_ready(ProcessId worker);
  void start_failed(WorkerKeyId key);
  void worker_blocked(ProcessId worker);
  void worker_unblocked(ProcessId worker);
  void worker_retiring(ProcessId worker);
  void worker_left(ProcessId worker, bool unused);
  void lease_returned(ProcessId client, LeaseId lease);
  void lease_kill_asked(ProcessId client, LeaseId lease);
  void set_aside(ProcessId home, ProcessId parent, const ResourceSet& resources, const ResourceSet& offered);
  void put_back(ProcessId home);
  void memory_is_scarce(bool scarce);
  void tick(Moment now);
  std::vector<Command> take_commands();

  LeaseTable& table() { return table_; }
  const LeaseTable& table() const { return table_; }
  static void list_possible(SimulationLog& log);

 private:
  struct AuditedWorker {
    WorkerKeyId key = 0;
    bool ready = false;
    bool doomed = false;
    bool killed = false;
    bool bound = false;  // the worker is bound to devices
    LeaseId lease = 0;
    Moment idle_since{0};
  };
  struct AuditedLease {
    ProcessId client = 0;
    std::uint32_t demand = 0;
    ProcessId worker = 0;
    ResourceSet resources;
    DeviceSet devices;
    bool dedicated = false;
    bool blocked = false;
    bool orphaned = false;
  };

  struct AuditedReservation {
    ResourceSet resources;
    ResourceSet offered;
    Moment since{0};
    bool reserved = false;
    std::uint32_t passed_over = 0;  // times that something of its tree came first after this one had aged fully
  };

  std::string_view state_of(ProcessId worker) const;
  void note(ProcessId worker, std::string_view event);
  void forget_client(ProcessId client);
  std::uint32_t leases_of(ProcessId client, std::uint32_t demand) const;
  void close(LeaseId lease);
  ResourceSet expected_free() const;
  std::uint32_t dedicated_leases() const;
  std::uint32_t dedicated_wanted(std::optional<WorkerKeyId> key) const;
  void check_limit() const;
  void check_surplus() const;
  void note_reserved();
  void check_ended_reservations() const;
  bool has_ended(const ResourceSet& asked) const;
  void check(const StartWorker& command);
  void check(const StopWorker& command);
  void check(const GrantLease& command);
  void check_devices(const GrantLease& command, const ResourceSet& asked);
  void check_priority(const GrantLease& command, const DemandChange& granted);
  void check_passed_over(const GrantLease& command, const DemandChange& granted);
  void check(const ReclaimLeases& command);
  void check(const LeaseLost& command);
  void check(const RefuseDemand& command);

  Limits limits_;
  SimulationLog& log_;
  LeaseTable table_;
  std::set<ProcessId> clients_;
  std::map<std::pair<ProcessId, std::uint32_t>, DemandChange> demands_;
  std::map<ProcessId, AuditedReservation> reservations_;   // by home, until they end
  std::set<std::pair<ProcessId, std::uint32_t>> refused_;  // demands that have not changed since
  std::map<ProcessId, AuditedWorker> workers_;
  struct Wait {
    Moment since{0};
    std::uint32_t passed_over = 0;  // times that demands of equal rank came first after this one had aged fully
  };
  std::map<std::pair<ProcessId, std::uint32_t>, Wait> waits_;  // waiting demands, as of the last decision
  Moment now_{0};
  bool memory_is_scarce_ = false;
  std::map<LeaseId, AuditedLease> leases_;
  std::set<std::pair<LeaseId, ProcessId>> to_report_;  // lost leases that must be reported to their client
  std::set<ProcessId> to_stop_;                        // workers whose dedicated lease was returned
  std::uint32_t asked_ = 0;
  std::map<WorkerKeyId, std::uint32_t> asked_of_;
  bool with_actors_ = false;
  std::set<WorkerKeyId> failed_keys_;
};

}  // namespace fray::scheduler
