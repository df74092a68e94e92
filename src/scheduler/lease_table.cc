// The events of the LeaseTable. Its decisions are in lease_decisions.cc.
#include "scheduler/lease_table.h"

#include <algorithm>
#include <utility>

#include "model/reservation.h"

namespace fray::scheduler {

LeaseTable::LeaseTable(Limits limits) : limits_(std::move(limits)), ledger_(limits_.total), devices_(limits_.total) {}

void LeaseTable::client_joined(ProcessId client, ProcessId parent) {
  if (client == 0 || !clients_.insert(client).second) return contradict();
  if (parent != 0) ledger_.place_below(client, parent);
}

void LeaseTable::client_left(ProcessId client) {
  if (clients_.erase(client) == 0) return contradict();
  changed_ = true;
  demands_.drop_client(client);
  for (LeaseId orphan : ledger_.orphan(client)) stop(ledger_.find(orphan)->worker, true);
  ledger_.forget_tree(client);
  workers_.doom(client, true);
}

void LeaseTable::demand_changed(ProcessId client, const DemandChange& demand) {
  if (!clients_.contains(client)) return contradict();
  changed_ = true;
  if (demand.count > 0) workers_.forgive(demand.shape.key);
  demands_.change(client, demand);
  if (demand.count == 0 || ledger_.total().covers(part_of_reservations(demand.shape.resources, true))) return;
  refuse_unreserved(*demands_.find(client, demand.demand));
}

void LeaseTable::tick(Moment now) {
  now_ = now;
  workers_.set_time(now);
  if (next_due_ && now >= *next_due_) changed_ = true;
}

void LeaseTable::memory_is_scarce(bool scarce) {
  if (std::exchange(memory_is_scarce_, scarce) != scarce) changed_ = true;
}

void LeaseTable::prestart(WorkerKeyId key, std::uint32_t count) {
  changed_ = true;
  prestarts_[key] = std::min(count, cpus());
  workers_.used(key);
}

std::set<WorkerKeyId> LeaseTable::keys_in_use() const {
  std::set<WorkerKeyId> used = workers_.leased_keys();
  for (const auto& [key, waiting] : demands_.at_once()) used.insert(key);
  for (const auto& [name, demand] : demands_.in_turn()) {
    if (!demand->wanted.needs_no_worker) used.insert(demand->wanted.shape.key);
  }
  for (const auto& [key, info] : workers_.keys()) {
    if (info.on_their_way() > 0) used.insert(key);
  }
  return used;
}

void LeaseTable::key_unused(WorkerKeyId key, bool unused) {
  if (unused == unused_keys_.contains(key)) return;
  changed_ = true;
  if (unused) {
    unused_keys_.insert(key);
    prestarts_.erase(key);
  } else {
    unused_keys_.erase(key);
  }
}

void LeaseTable::forget_key(WorkerKeyId key) {
  unused_keys_.erase(key);
  prestarts_.erase(key);
  workers_.forget_key(key);
}

void LeaseTable::worker_starting(ProcessId worker, WorkerKeyId key) {
  changed_ = true;
  if (!workers_.starting(worker, key)) contradict();
}

void LeaseTable::worker_ready(ProcessId worker) {
  changed_ = true;
  if (!workers_.ready(worker)) contradict();
}

void LeaseTable::start_failed(WorkerKeyId key) {
  changed_ = true;
  if (!workers_.start_failed(key)) contradict();
}

void LeaseTable::worker_blocked(ProcessId worker) {
  const Worker* entry = workers_.find(worker);
  if (entry == nullptr || entry->lease == 0 || !ledger_.block(entry->lease)) return contradict();
  changed_ = true;
  if (!entry->dedicated) devices_.yield(worker);
}

void LeaseTable::worker_unblocked(ProcessId worker) {
  const Worker* entry = workers_.find(worker);
  if (entry == nullptr || entry->lease == 0 || !ledger_.unblock(entry->lease)) return contradict();
  changed_ = true;
  if (!entry->dedicated) devices_.resume(worker);
}

void LeaseTable::worker_retiring(ProcessId worker) {
  if (workers_.find(worker) == nullptr) return contradict();
  changed_ = true;
  workers_.doom(worker, false);
}

void LeaseTable::worker_left(ProcessId worker) {
  const Worker* entry = workers_.find(worker);
  if (entry == nullptr) return contradict();
  changed_ = true;
  if (clients_.contains(worker)) client_left(worker);
  const HeldLease* held = ledger_.find(entry->lease);
  if (held != nullptr && !held->orphaned) {
    commands_.emplace_back(LeaseLost{.lease = held->id, .client = held->client, .worker = worker});
    lost_.push_back(entry->key);
  }
  ledger_.end(entry->lease);
  devices_.left(worker);
  served_.erase(worker);
  workers_.left(worker);
}

void LeaseTable::lease_returned(ProcessId client, LeaseId lease) {
  const HeldLease* held = ledger_.find(lease);
  if (held == nullptr || held->client != client || held->orphaned) return contradict();
  const ProcessId worker = held->worker;
  if (held->dedicated) return workers_.find(worker)->doomed ? contradict() : stop(worker, false);
  changed_ = true;
  demands_.goes_behind(client, held->demand);
  ledger_.end(lease);
  if (devices_.of(worker) == nullptr) return workers_.release(worker);
  // No client gets this worker any more, and none gets its devices before it has ended, except its own tasks: they may
  // need the devices, and the worker ends only after them.
  workers_.doom(worker, false);
  workers_.release(worker);
  served_.insert(worker);
  works_as_client(worker) ? devices_.yield(worker) : devices_.resume(worker);
}

void LeaseTable::lease_kill_asked(ProcessId client, LeaseId lease) {
  const HeldLease* held = ledger_.find(lease);
  if (held == nullptr || held->client != client || held->orphaned) return contradict();
  changed_ = true;
  stop(held->worker, true);
}

void LeaseTable::stop(ProcessId worker, bool kill) {
  workers_.doom(worker, kill);
  commands_.emplace_back(StopWorker{.worker = worker, .kill = kill});
}

void LeaseTable::start(WorkerKeyId key) {
  workers_.start_asked(key);
  commands_.emplace_back(StartWorker{.key = key});
}

std::uint32_t LeaseTable::cpus() const {
  const std::int64_t units = [this] {
    auto found = limits_.total.units().find("CPU");
    return found == limits_.total.units().end() ? 0 : found->second;
  }();
  const std::int64_t whole = (units + ResourceSet::kUnitsPerOne - 1) / ResourceSet::kUnitsPerOne;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(whole, 1, limits_.max_workers));
}

bool LeaseTable::deadlock_suspected() const {
  // Idle workers without a place, which were started for actors that have ended, cannot run tasks.
  const std::uint32_t stuck = ledger_.blocked() + static_cast<std::uint32_t>(served_.size());
  if (places() > 0 || workers_.living() != stuck + workers_.count(WorkerState::kIdle)) return false;
  for (const auto& [lease, held] : ledger_.leases()) {
    if (held.worker == 0) continue;  // a reservation
    const Worker* worker = workers_.find(held.worker);
    if (worker == nullptr || worker->dying) return false;  // its place becomes free
  }
  const auto& waiting = demands_.in_turn();
  return std::any_of(waiting.begin(), waiting.end(), [this](const auto& each) { return waits_in_vain(*each.second); });
}

// A dedicated demand needs no place among the workers.
bool LeaseTable::waits_in_vain(const Demand& demand) const {
  return !demand.reported && !demand.wanted.dedicated && ledger_.total().covers(demand.wanted.shape.resources);
}

std::vector<ProcessId> LeaseTable::unblocked_dedicated() const {
  std::vector<ProcessId> workers;
  for (const auto& [lease, held] : ledger_.leases()) {
    if (held.dedicated && !held.blocked && held.worker != 0) workers.push_back(held.worker);
  }
  return workers;
}

void LeaseTable::deadlock_stood() {
  if (!deadlock_suspected()) return;
  Demand* deepest = nullptr;
  for (Demand* demand : demands_.all()) {
    if (!waits_in_vain(*demand)) continue;
    const bool deeper = deepest == nullptr || demand->wanted.shape.depth > deepest->wanted.shape.depth ||
                        (demand->wanted.shape.depth == deepest->wanted.shape.depth && demand->since < deepest->since);
    if (deeper) deepest = demand;
  }
  deepest->reported = true;
  commands_.emplace_back(RefuseDemand{.client = deepest->client,
                                      .demand = deepest->wanted.demand,
                                      .reason = reason(*deepest).text,
                                      .code = StatusCode::kDeadlock});
}

}  // namespace fray::scheduler
