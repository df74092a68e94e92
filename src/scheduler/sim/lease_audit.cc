#include "scheduler/sim/lease_audit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/reservation.h"

namespace fray::scheduler {

namespace {
[[noreturn]] void violate(const std::string& what) { throw SimulationViolation(what); }
}  // namespace

AuditedLeaseTable::AuditedLeaseTable(Limits limits, SimulationLog& log)
    : limits_(limits), log_(log), table_(std::move(limits)) {}

std::string_view AuditedLeaseTable::state_of(ProcessId worker) const {
  auto found = workers_.find(worker);
  if (found == workers_.end()) return "absent";
  const AuditedWorker& entry = found->second;
  if (!entry.ready) return "starting";
  if (entry.lease == 0) return entry.doomed ? "ending" : "idle";
  if (leases_.at(entry.lease).dedicated) {
    if (entry.doomed) return "dedicated, doomed";
    return leases_.at(entry.lease).blocked ? "dedicated, blocked" : "dedicated";
  }
  if (leases_.at(entry.lease).blocked) return entry.doomed ? "blocked, doomed" : "blocked";
  return entry.doomed ? "leased, doomed" : "leased";
}

void AuditedLeaseTable::note(ProcessId worker, std::string_view event) { log_.event(state_of(worker), event); }

void AuditedLeaseTable::list_possible(SimulationLog& log) {
  constexpr std::string_view kStates[] = {"starting",         "idle",
                                          "leased",           "blocked",
                                          "ending",           "leased, doomed",
                                          "blocked, doomed",  "absent",
                                          "dedicated",        "dedicated, blocked",
                                          "dedicated, doomed"};
  for (std::string_view state : kStates) {
    const bool leased = state.starts_with("leased") || state.starts_with("blocked") || state.starts_with("dedicated");
    for (std::string_view event : {"blocked", "unblocked", "retiring", "left"}) log.possible.insert({state, event});
    if (leased) {
      for (std::string_view event : {"returned", "kill asked", "client left", "reservation ended"}) {
        log.possible.insert({state, event});
      }
    }
  }
  log.possible.erase({"absent", "left"});       // a death is reported once
  log.possible.erase({"starting", "blocked"});  // messages of a worker begin with hello
  log.possible.erase({"starting", "unblocked"});
  log.possible.erase({"starting", "retiring"});
  log.possible.insert({"starting", "ready"});
  log.possible.insert({"idle", "granted"});
  log.possible.insert({"idle", "stopped"});
  log.possible.insert({"dedicated, doomed", "stopped"});
  log.possible.insert({"absent", "starting"});
  log.possible.insert({"absent", "start failed"});
}

void AuditedLeaseTable::client_joined(ProcessId client, ProcessId parent) {
  clients_.insert(client);
  table_.client_joined(client, parent);
}

void AuditedLeaseTable::client_left(ProcessId client) {
  forget_client(client);
  table_.client_left(client);
}

void AuditedLeaseTable::forget_client(ProcessId client) {
  if (clients_.erase(client) == 0) return;
  for (auto& [id, lease] : leases_) {
    if (lease.client != client || lease.orphaned) continue;
    note(lease.worker, "client left");
    lease.orphaned = true;
    workers_.at(lease.worker).doomed = true;
  }
  std::erase_if(demands_, [client](const auto& each) { return each.first.first == client; });
  std::erase_if(refused_, [client](const auto& each) { return each.first == client; });
  std::erase_if(to_report_, [client](const auto& each) { return each.second == client; });
  if (auto worker = workers_.find(client); worker != workers_.end()) worker->second.doomed = true;
}

void AuditedLeaseTable::demand_changed(ProcessId client, const DemandChange& demand) {
  with_actors_ |= demand.dedicated;
  if (clients_.contains(client)) {
    DemandChange& known = demands_[{client, demand.demand}] = demand;
    known.count = demand.left_to_grant(leases_of(client, demand.demand));
  }
  refused_.erase({client, demand.demand});
  table_.demand_changed(client, demand);
}

std::uint32_t AuditedLeaseTable::leases_of(ProcessId client, std::uint32_t demand) const {
  return static_cast<std::uint32_t>(std::count_if(leases_.begin(), leases_.end(), [=](const auto& each) {
    return each.second.client == client && each.second.demand == demand && !each.second.orphaned;
  }));
}

void AuditedLeaseTable::worker_starting(ProcessId worker, WorkerKeyId key) {
  note(worker, "starting");
  workers_[worker] = {.key = key};
  --asked_;
  --asked_of_[key];
  table_.worker_starting(worker, key);
}

void AuditedLeaseTable::worker_ready(ProcessId worker) {
  note(worker, "ready");
  if (auto found = workers_.find(worker); found != workers_.end()) {
    found->second.ready = true;
    found->second.idle_since = now_;
  }
  table_.worker_ready(worker);
}

void AuditedLeaseTable::start_failed(WorkerKeyId key) {
  note(0, "start failed");
  --asked_;
  --asked_of_[key];
  failed_keys_.insert(key);
  table_.start_failed(key);
}

void AuditedLeaseTable::worker_blocked(ProcessId worker) {
  note(worker, "blocked");
  auto found = workers_.find(worker);
  if (found != workers_.end() && found->second.lease != 0) leases_.at(found->second.lease).blocked = true;
  table_.worker_blocked(worker);
}

void AuditedLeaseTable::worker_unblocked(ProcessId worker) {
  note(worker, "unblocked");
  auto found = workers_.find(worker);
  if (found != workers_.end() && found->second.lease != 0) leases_.at(found->second.lease).blocked = false;
  table_.worker_unblocked(worker);
}

void AuditedLeaseTable::worker_retiring(ProcessId worker) {
  note(worker, "retiring");
  if (auto found = workers_.find(worker); found != workers_.end()) found->second.doomed = true;
  table_.worker_retiring(worker);
}

void AuditedLeaseTable::worker_left(ProcessId worker, bool unused) {
  note(worker, "left");
  forget_client(worker);
  if (auto found = workers_.find(worker); found != workers_.end()) {
    if (!found->second.ready || unused) failed_keys_.insert(found->second.key);
    if (const LeaseId lease = found->second.lease; lease != 0) {
      if (!leases_.at(lease).orphaned) to_report_.insert({lease, leases_.at(lease).client});
      leases_.erase(lease);
    }
    workers_.erase(found);
    to_stop_.erase(worker);
  }
  table_.worker_left(worker, unused);
}

void AuditedLeaseTable::lease_returned(ProcessId client, LeaseId lease) {
  auto found = leases_.find(lease);
  if (found != leases_.end() && found->second.client == client && !found->second.orphaned) {
    note(found->second.worker, "returned");
    AuditedWorker& worker = workers_.at(found->second.worker);
    if (found->second.dedicated) {
      if (!worker.doomed) to_stop_.insert(found->second.worker);
      worker.doomed = true;
    } else {
      worker.doomed |= worker.bound;
      close(lease);
    }
  }
  table_.lease_returned(client, lease);
}

void AuditedLeaseTable::close(LeaseId lease) {
  AuditedWorker& worker = workers_.at(leases_.at(lease).worker);
  worker.lease = 0;
  worker.idle_since = now_;
  leases_.erase(lease);
}

void AuditedLeaseTable::lease_kill_asked(ProcessId client, LeaseId lease) {
  auto found = leases_.find(lease);
  if (found != leases_.end() && found->second.client == client) note(found->second.worker, "kill asked");
  table_.lease_kill_asked(client, lease);
}

void AuditedLeaseTable::set_aside(ProcessId home, ProcessId parent, const ResourceSet& resources,
                                  const ResourceSet& offered) {
  reservations_.try_emplace(home, AuditedReservation{.resources = resources, .offered = offered, .since = now_});
  table_.reservations().set_aside(home, parent, resources, offered);
}

void AuditedLeaseTable::put_back(ProcessId home) {
  if (auto found = reservations_.find(home); found != reservations_.end()) {
    log_.event("reservation", found->second.reserved ? "ended" : "ended while it waits");
    reservations_.erase(found);
    for (const auto& [id, lease] : leases_) {
      if (!has_ended(lease.resources)) continue;
      note(lease.worker, "reservation ended");
      workers_.at(lease.worker).doomed = true;
    }
  }
  table_.reservations().put_back(home);
}

// Names with the mark are known as long as the reservation lasts that offers them.
bool AuditedLeaseTable::has_ended(const ResourceSet& asked) const {
  return std::any_of(asked.units().begin(), asked.units().end(), [this](const auto& each) {
    const auto offers = [&each](const auto& known) { return known.second.offered.units(each.first) > 0; };
    return is_of_reservation(each.first) && std::none_of(reservations_.begin(), reservations_.end(), offers);
  });
}

void AuditedLeaseTable::memory_is_scarce(bool scarce) {
  memory_is_scarce_ = scarce;
  table_.supply().memory_is_scarce(scarce);
}

void AuditedLeaseTable::tick(Moment now) {
  now_ = now;
  table_.tick(now);
}

std::vector<Command> AuditedLeaseTable::take_commands() {
  std::erase_if(waits_, [this](const auto& wait) {
    auto demand = demands_.find(wait.first);
    return demand == demands_.end() || demand->second.count == 0;
  });
  for (const auto& [name, demand] : demands_) {
    if (demand.count > 0) waits_.try_emplace(name, Wait{.since = now_});
  }
  std::vector<Command> commands = table_.take_commands();
  note_reserved();
  for (const Command& command : commands) {
    std::visit([this](const auto& each) { check(each); }, command);
  }
  check_ended_reservations();
  if (!to_report_.empty())
    violate(fmt::format("lease {} was lost and its client was not told", to_report_.begin()->first));
  if (!to_stop_.empty()) violate("the worker of an ended actor is not told to end");
  check_limit();
  check_surplus();
  if (table_.free() != expected_free()) {
    violate(fmt::format("free is {}, the books say {}", table_.free().to_string(), expected_free().to_string()));
  }
  return commands;
}

void AuditedLeaseTable::note_reserved() {
  for (auto& [home, reservation] : reservations_) {
    if (table_.reservations().is_reserved(home) == reservation.reserved) continue;
    if (reservation.reserved) violate("a reservation has lost what it had");
    if (!expected_free().covers(reservation.resources)) {
      violate(fmt::format("reserved {}, free is {}", reservation.resources.to_string(), expected_free().to_string()));
    }
    log_.event("reservation", "reserved");
    reservation.reserved = true;
  }
}

void AuditedLeaseTable::check_ended_reservations() const {
  for (const auto& [name, demand] : demands_) {
    const bool waits = demand.count > 0 && !refused_.contains(name);
    if (waits && has_ended(demand.shape.resources)) {
      violate(fmt::format("client {} waits for {}, which has ended", name.first, demand.shape.resources.to_string()));
    }
  }
  for (const auto& [id, lease] : leases_) {
    if (has_ended(lease.resources) && !workers_.at(lease.worker).killed) {
      violate(fmt::format("worker {} goes on with {}, which has ended", lease.worker, lease.resources.to_string()));
    }
  }
}

std::uint32_t AuditedLeaseTable::dedicated_leases() const {
  return static_cast<std::uint32_t>(
      std::count_if(leases_.begin(), leases_.end(), [](const auto& each) { return each.second.dedicated; }));
}

std::uint32_t AuditedLeaseTable::dedicated_wanted(std::optional<WorkerKeyId> key) const {
  std::uint32_t wanted = 0;
  for (const auto& [name, demand] : demands_) {
    if (demand.dedicated && (!key || *key == demand.shape.key)) wanted += demand.count;
  }
  return wanted;
}

// Without actors no more processes than max_workers exist. With actors there may be more for a moment: those that start
// for actors, and those that were and have nobody to work for. But tasks never have more, and what is idle beyond the
// limit is told to end.
void AuditedLeaseTable::check_limit() const {
  const std::uint32_t dedicated = dedicated_leases();
  if (leases_.size() - dedicated > limits_.max_workers) violate("more leases for tasks than the limit");
  if (!with_actors_ && workers_.size() + asked_ > limits_.max_workers) violate("more workers than the limit");
  const auto staying = std::count_if(workers_.begin(), workers_.end(),
                                     [](const auto& each) { return !each.second.doomed || each.second.lease != 0; });
  if (static_cast<std::uint64_t>(staying) + asked_ <= limits_.max_workers + dedicated + dedicated_wanted({})) return;
  for (const auto& [id, worker] : workers_) {
    const bool idle = worker.ready && worker.lease == 0 && !worker.doomed;
    const auto wanted = std::any_of(demands_.begin(), demands_.end(), [&worker](const auto& each) {
      return each.second.count > 0 && each.second.shape.key == worker.key;
    });
    if (idle && !wanted) violate(fmt::format("worker {} idles beyond the limit", id));
  }
}

// What no CPU could use and nobody waits for is idle for a minute at most, and not while memory is scarce.
void AuditedLeaseTable::check_surplus() const {
  std::map<WorkerKeyId, std::uint32_t> idle;
  for (const auto& [id, worker] : workers_) {
    const auto works = [id](const auto& each) { return each.second.client == id; };
    const bool is_old = memory_is_scarce_ || now_ - worker.idle_since >= std::chrono::minutes(1);
    const bool is_idle = worker.ready && worker.lease == 0 && !worker.doomed;
    const auto demand = demands_.lower_bound({id, 0});
    const bool waits = demand != demands_.end() && demand->first.first == id;
    if (is_idle && is_old && !waits && std::none_of(leases_.begin(), leases_.end(), works)) ++idle[worker.key];
  }
  for (const auto& [key, count] : idle) {
    std::uint32_t kept = table_.ledger().blocked() + static_cast<std::uint32_t>(limits_.total.amount("CPU")) + 1;
    for (const auto& [name, demand] : demands_) kept += demand.shape.key == key ? demand.count : 0;
    if (count > kept) violate(fmt::format("{} workers of key {} idle on, and {} could be used", count, key, kept));
  }
}

ResourceSet AuditedLeaseTable::expected_free() const {
  ResourceSet free = limits_.total;
  for (const auto& [id, lease] : leases_) {
    if (!lease.blocked || lease.dedicated) free.subtract(lease.resources);
  }
  for (const auto& [home, reservation] : reservations_) {
    if (!reservation.reserved) continue;
    free.subtract(reservation.resources);
    free.add(reservation.offered);
  }
  return free;
}

void AuditedLeaseTable::check(const StartWorker& command) {
  ++asked_;
  ++asked_of_[command.key];
  if (workers_.size() + asked_ <= limits_.max_workers + dedicated_leases() + dedicated_wanted({})) return;
  if (dedicated_wanted(command.key) == 0) violate("a worker is started beyond the limit");
  const auto starting = std::count_if(workers_.begin(), workers_.end(), [&command](const auto& each) {
    return !each.second.ready && each.second.key == command.key;
  });
  if (starting + asked_of_[command.key] > limits_.max_workers + dedicated_wanted(command.key))
    violate("more workers start than are wanted");
}

void AuditedLeaseTable::check(const StopWorker& command) {
  auto found = workers_.find(command.worker);
  if (found == workers_.end()) {
    return;  // it left after the decision to kill it, in the same round
  }
  const bool returned = to_stop_.erase(command.worker) > 0;
  if (!command.kill && !returned && (found->second.lease != 0 || !found->second.ready))
    violate("a worker that is not idle is told to end");
  if (!command.kill) note(command.worker, "stopped");
  found->second.killed |= command.kill;
  found->second.doomed = true;
}

void AuditedLeaseTable::check(const GrantLease& command) {
  auto worker = workers_.find(command.worker);
  if (worker == workers_.end()) violate(fmt::format("worker {} is granted and does not exist", command.worker));
  if (!worker->second.ready) violate(fmt::format("worker {} is granted and not ready", command.worker));
  if (worker->second.doomed) violate(fmt::format("worker {} is granted and about to end", command.worker));
  if (worker->second.lease != 0) violate(fmt::format("worker {} is leased twice", command.worker));
  if (!clients_.contains(command.client)) violate("a lease is granted to a client that is gone");
  DemandChange& demand = demands_[{command.client, command.demand}];
  if (demand.count == 0) violate("a lease is granted that nobody asked for");
  if (demand.shape.key != worker->second.key) violate("a worker of another key is granted");
  if (!expected_free().covers(demand.shape.resources)) {
    violate(fmt::format("granted {}, free is {}", demand.shape.resources.to_string(), expected_free().to_string()));
  }
  if (leases_.contains(command.lease)) violate("a lease number is used twice");
  check_devices(command, demand.shape.resources);
  if (!demand.dedicated) {
    check_priority(command, demand);
    check_passed_over(command, demand);
  }
  waits_[{command.client, command.demand}] = {.since = now_};
  --demand.count;
  note(command.worker, "granted");
  worker->second.lease = command.lease;
  leases_[command.lease] = {.client = command.client,
                            .demand = command.demand,
                            .worker = command.worker,
                            .resources = demand.shape.resources,
                            .devices = command.devices,
                            .dedicated = demand.dedicated};
}

// Of what one client wants of the same workers at the same depth, nothing gets a lease while something waits whose priority
// is higher than all that the first can have gained; and what has gained all there is to gain is not passed over for ever.
void AuditedLeaseTable::check_priority(const GrantLease& command, const DemandChange& granted) {
  constexpr std::int32_t kHighest = 3;  // of the world
  constexpr std::uint32_t kPatience = 8;
  const auto gained = [this](const std::pair<ProcessId, std::uint32_t>& name, const DemandChange& demand) {
    return demand.shape.priority + (now_ - waits_.at(name).since) / std::chrono::seconds(1);
  };
  const auto most = gained({command.client, command.demand}, granted);
  for (auto& [name, wait] : waits_) {
    const DemandChange& other = demands_[name];
    if (name.first != command.client || name.second == command.demand || other.count == 0 || other.dedicated) continue;
    const bool same_fit = other.shape.key == granted.shape.key && other.shape.depth == granted.shape.depth &&
                          other.shape.resources == granted.shape.resources;
    if (!same_fit) continue;
    if (other.shape.priority > most) {
      violate(fmt::format("demand {} of priority {} gets a lease before demand {} of priority {}", command.demand,
                          granted.shape.priority, name.second, other.shape.priority));
    }
    if (gained(name, other) >= kHighest && ++wait.passed_over > kPatience) {
      violate(fmt::format("demand {} of priority {} is passed over for ever", name.second, other.shape.priority));
    }
  }
}

// A reservation asks for no depth and for no priority, and those of its tree that ask for no more do not keep it waiting for
// ever once it has gained all priority that there is. It keeps nothing while actors hold what it needs.
void AuditedLeaseTable::check_passed_over(const GrantLease& command, const DemandChange& granted) {
  constexpr std::uint32_t kPatience = 8;
  const LeaseLedger& ledger = table_.ledger();
  for (auto& [home, reservation] : reservations_) {
    const bool aged = now_ - reservation.since >= std::chrono::seconds(6);
    if (reservation.reserved || !aged || granted.shape.depth > 0) continue;
    if (ledger.tree(home) != ledger.tree(command.client)) continue;
    ResourceSet both = reservation.resources;
    both.add(granted.shape.resources);
    const bool takes_of_it = granted.shape.resources.amount("CPU") > 0 && !expected_free().covers(both);
    if (!takes_of_it || !ledger.beside_actors().covers(reservation.resources)) continue;
    if (!table_.state().devices.fits_beside_actors(reservation.resources)) continue;
    if (++reservation.passed_over > kPatience) violate(fmt::format("reservation {} is passed over for ever", home));
  }
}

// Each index that is granted has room beside what leased workers have there, except tasks' workers that are blocked.
void AuditedLeaseTable::check_devices(const GrantLease& command, const ResourceSet& asked) {
  if (asks_for_devices(asked) == command.devices.empty()) violate("devices are granted that nobody asked for, or none");
  AuditedWorker& worker = workers_.at(command.worker);
  if (!command.devices.empty() && std::exchange(worker.bound, true)) violate("a worker is bound to devices twice");
  for (const auto& [kind, indices] : command.devices) {
    const double amount = asked.amount(kind);
    if (indices.size() != static_cast<std::size_t>(std::ceil(amount))) violate("another number of devices than asked");
    for (std::uint32_t index : indices) {
      double used = std::min(amount, 1.0);
      for (const auto& [id, lease] : leases_) {
        auto found = lease.devices.find(kind);
        if ((lease.blocked && !lease.dedicated) || found == lease.devices.end()) continue;
        if (std::count(found->second.begin(), found->second.end(), index) == 0) continue;
        used += std::min(lease.resources.amount(kind), 1.0);
      }
      if (used > 1.0 || index >= limits_.total.amount(kind)) violate(fmt::format("{} {} has no room", kind, index));
    }
  }
}

void AuditedLeaseTable::check(const ReclaimLeases& command) {
  if (!clients_.contains(command.client)) violate("a client that is gone is asked for leases");
  if (command.count == 0) violate("no lease is asked for");
  for (const auto& [id, lease] : leases_) {
    if (lease.dedicated && lease.client == command.client) violate("an actor is asked for its worker");
  }
}

void AuditedLeaseTable::check(const LeaseLost& command) {
  // The client may have left later in the same round: then it does not matter.
  if (clients_.contains(command.client) && to_report_.erase({command.lease, command.client}) == 0) {
    violate(fmt::format("lease {} is reported lost and was not, or twice", command.lease));
  }
}

void AuditedLeaseTable::check(const RefuseDemand& command) {
  const auto found = demands_.find({command.client, command.demand});
  if (command.code == StatusCode::kReservationEnded) {
    // It may have changed later in the same round.
    if (found == demands_.end() || found->second.count == 0) return;
    if (!has_ended(found->second.shape.resources)) violate("a demand is refused although its reservation lasts");
  }
  if (found == demands_.end() || found->second.count == 0) violate("a demand is refused that nobody has");
  refused_.insert(found->first);
  if (command.code == StatusCode::kUnavailable && !failed_keys_.contains(found->second.shape.key)) {
    violate("a demand is refused although no start failed");
  }
}

}  // namespace fray::scheduler
