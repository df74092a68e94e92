#include "scheduler/lease_table.h"

#include <utility>

#include "model/reservation.h"
#include "scheduler/reclaim_policy.h"
#include "scheduler/wait_reasons.h"

namespace fray::scheduler {

// ---- Events

void LeaseTable::client_left(ProcessId client) {
  if (state_.clients.erase(client) == 0) return state_.contradict();
  state_.changed = true;
  state_.demands.drop_client(client);
  for (LeaseId orphan : state_.ledger.orphan(client)) state_.stop(state_.ledger.find(orphan)->worker, true);
  state_.ledger.forget_tree(client);
  state_.workers.doom(client, true);
}

void LeaseTable::demand_changed(ProcessId client, DemandChange demand) {
  if (!state_.clients.contains(client)) return state_.contradict();
  state_.changed = true;
  demand.count = demand.left_to_grant(state_.ledger.held({client, demand.demand}));
  if (demand.count > 0) state_.workers.forgive(demand.shape.key);
  state_.demands.change(client, demand);
  if (demand.count > 0) reservations_.check(*state_.demands.find(client, demand.demand));
}

void LeaseTable::tick(Moment now) {
  state_.now = now;
  state_.workers.set_time(now);
  if (next_due_ && now >= *next_due_) state_.changed = true;
}

void LeaseTable::set_blocked(ProcessId worker, bool blocked) {
  const Worker* entry = state_.workers.find(worker);
  const bool agrees = entry != nullptr && entry->lease != 0 && state_.ledger.set_blocked(entry->lease, blocked);
  if (!agrees) return state_.contradict();
  state_.changed = true;
  if (entry->dedicated) return;
  blocked ? state_.devices.yield(worker) : state_.devices.resume(worker);
}

void LeaseTable::worker_retiring(ProcessId worker) {
  if (state_.workers.find(worker) == nullptr) return state_.contradict();
  state_.changed = true;
  state_.workers.doom(worker, false);
}

void LeaseTable::worker_left(ProcessId worker, bool unused) {
  const Worker* entry = state_.workers.find(worker);
  if (entry == nullptr) return state_.contradict();
  state_.changed = true;
  if (state_.clients.contains(worker)) client_left(worker);
  const HeldLease* held = state_.ledger.find(entry->lease);
  if (held != nullptr && !held->orphaned) {
    state_.commands.emplace_back(LeaseLost{.lease = held->id, .client = held->client, .worker = worker});
    supply_.lost(entry->key);
  }
  state_.ledger.end(entry->lease);
  state_.devices.left(worker);
  state_.served.erase(worker);
  state_.workers.left(worker, unused);
}

void LeaseTable::lease_returned(ProcessId client, LeaseId lease) {
  const HeldLease* held = state_.ledger.find(lease);
  if (held == nullptr || held->client != client || held->orphaned) return state_.contradict();
  const ProcessId worker = held->worker;
  if (held->dedicated) return state_.workers.find(worker)->doomed ? state_.contradict() : state_.stop(worker, false);
  state_.changed = true;
  state_.demands.goes_behind(client, held->demand);
  state_.ledger.end(lease);
  state_.devices.of(worker) == nullptr ? state_.workers.release(worker) : supply_.has_served(worker);
}

void LeaseTable::lease_kill_asked(ProcessId client, LeaseId lease) {
  const HeldLease* held = state_.ledger.find(lease);
  if (held == nullptr || held->client != client || held->orphaned) return state_.contradict();
  state_.changed = true;
  state_.stop(held->worker, true);
}

bool LeaseTable::deadlock_suspected() const { return deadlocked(state_) != nullptr; }

void LeaseTable::deadlock_stood() {
  const Demand* deepest = deadlocked(state_);
  if (deepest == nullptr) return;
  state_.refuse(*state_.demands.find(deepest->client, deepest->wanted.demand), StatusCode::kDeadlock,
                wait_reason(state_, *deepest).text);
}

// ---- Decisions

// The order of the steps matters:
// - Resources that jobs lend become free first, for all later steps.
// - Hopeless demands are refused, and devices of served workers freed, before anything is granted: they must not keep
//   resources from other demands.
// - Idle workers are granted before others are started.
// - Leases are asked back last, for what is still missing.
std::vector<Command> LeaseTable::take_commands() {
  if (std::exchange(state_.changed, false)) {
    state_.demands.note_time(state_.now);
    jobs_.lend();
    refuse_given_up();
    supply_.stop_served();
    grant_all();
    const std::optional<Moment> next_stop = supply_.adjust();
    reclaim();
    next_due_ = next_gain(state_);
    if (next_stop && (!next_due_ || *next_stop < *next_due_)) next_due_ = next_stop;
  }
  return std::exchange(state_.commands, {});
}

void LeaseTable::refuse_given_up() {
  if (!state_.workers.any_given_up()) return;
  for (Demand* demand : state_.demands.all()) {
    if (demand->reported || !state_.is_hopeless(*demand)) continue;
    state_.refuse(*demand, StatusCode::kUnavailable, wait_reason(state_, *demand).text);
    state_.workers.told(demand->key());
  }
}

void LeaseTable::grant_all() {
  std::vector<WorkerKeyId> keys;
  for (const auto& [key, waiting] : state_.demands.at_once()) keys.push_back(key);
  for (const WorkerKeyId key : keys) {
    const KeyInfo& info = state_.workers.key(key);
    const auto& at_once = state_.demands.at_once();
    for (auto of_key = at_once.find(key); of_key != at_once.end() && !info.idle.empty(); of_key = at_once.find(key)) {
      grant(*of_key->second.begin()->second, info.idle.back());
    }
  }
  // One lease at a time, because each grant changes the order of service: a tree without leases comes first.
  while (!state_.demands.in_turn().empty() && grant_first()) {
  }
}

// Grants one lease to the first demand that can have it. The demands before it keep what they will need: `available` is
// lessened by it even where it does not suffice, and may become negative. Otherwise small demands would take each bit
// that comes free, and a large one would wait forever.
bool LeaseTable::grant_first() {
  ResourceSet available = state_.ledger.free();
  std::int64_t places_left = state_.places();
  for (const Demand* demand : in_order_of_service(state_)) {
    const ResourceSet& asked = demand->asked();
    const bool has_place = demand->wanted.dedicated || places_left > 0;
    const bool covered = has_place && available.covers(asked) && state_.devices.fits(asked);
    if (covered && demand->wanted.needs_no_worker) {
      reservations_.grant(*demand);
      return true;
    }
    const KeyInfo& info = state_.workers.key(demand->key());
    if (covered && !info.idle.empty()) {
      grant(*demand, info.idle.back());
      return true;
    }
    if (covered && !demand->wanted.dedicated) --places_left;  // only a worker of its key is missing
    available.subtract(covered ? asked : kept_while_waiting(asked, available));
  }
  return false;
}

void LeaseTable::grant(const Demand& demand, ProcessId worker) {
  const ProcessId client = demand.client;
  const std::uint32_t number = demand.wanted.demand;
  const bool dedicated = demand.wanted.dedicated;
  const LeaseId lease = state_.ledger.grant(
      {.client = client, .demand = number, .worker = worker, .shape = demand.wanted.shape, .dedicated = dedicated});
  DeviceSet devices = state_.devices.take(worker, demand.asked(), dedicated);
  state_.workers.lease(worker, lease, dedicated);
  state_.demands.granted(client, number);
  state_.commands.emplace_back(
      GrantLease{.lease = lease, .client = client, .demand = number, .worker = worker, .devices = std::move(devices)});
}

void LeaseTable::reclaim() {
  if (state_.demands.empty()) return;
  for (const ReclaimLeases& request : plan_reclaims(state_)) {
    state_.ledger.asked_back({request.client, request.demand}, request.count);
    state_.commands.emplace_back(request);
  }
}

}  // namespace fray::scheduler
