#include "scheduler/worker_supply.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "model/reservation.h"
#include "scheduler/reclaim_policy.h"

namespace fray::scheduler {

void WorkerSupply::prestart(WorkerKeyId key, std::uint32_t count) {
  state_.changed = true;
  prestarts_[key] = std::min(count, cpus());
  state_.workers.used(key);
}

std::set<WorkerKeyId> WorkerSupply::keys_in_use() const {
  std::set<WorkerKeyId> used;
  for (const auto& [key, waiting] : state_.demands.at_once()) used.insert(key);
  for (const auto& [name, demand] : state_.demands.in_turn()) {
    if (!demand->wanted.needs_no_worker) used.insert(demand->key());
  }
  for (const auto& [key, info] : state_.workers.keys()) {
    if (info.leased > 0 || info.on_their_way() > 0) used.insert(key);
  }
  return used;
}

void WorkerSupply::key_unused(WorkerKeyId key, bool unused) {
  if (unused == unused_keys_.contains(key)) return;
  state_.changed = true;
  if (unused) {
    unused_keys_.insert(key);
    prestarts_.erase(key);
  } else {
    unused_keys_.erase(key);
  }
}

void WorkerSupply::forget_key(WorkerKeyId key) {
  unused_keys_.erase(key);
  prestarts_.erase(key);
  state_.workers.forget_key(key);
}

void WorkerSupply::memory_is_scarce(bool scarce) {
  if (std::exchange(memory_is_scarce_, scarce) != scarce) state_.changed = true;
}

// No client gets this worker any more, and none gets its devices before it has ended, except its own tasks: they may need
// the devices, and the worker ends only after them.
void WorkerSupply::has_served(ProcessId worker) {
  state_.workers.doom(worker, false);
  state_.workers.release(worker);
  state_.served.insert(worker);
  state_.works_as_client(worker) ? state_.devices.yield(worker) : state_.devices.resume(worker);
}

void WorkerSupply::stop_served() {
  std::erase_if(state_.served, [this](ProcessId worker) {
    if (state_.works_as_client(worker)) return false;
    state_.devices.resume(worker);  // until the worker has left
    state_.stop(worker, false);
    return true;
  });
}

// The first two count the workers that are needed, and the last one keeps those.
std::optional<Moment> WorkerSupply::adjust() {
  needed_.clear();
  needed_dedicated_ = 0;
  start_at_once();
  start_in_turn();
  start_ahead();
  replace_lost();
  return stop_surplus();
}

void WorkerSupply::start(WorkerKeyId key) {
  state_.workers.start_asked(key);
  state_.commands.emplace_back(StartWorker{.key = key});
}

void WorkerSupply::start_at_once() {
  for (const auto& [key, waiting] : state_.demands.at_once()) {
    if (state_.workers.is_hopeless(key)) continue;
    const auto count = static_cast<std::uint32_t>(waiting.size());
    needed_dedicated_ += count;
    needed_[key] += count;
    const KeyInfo& info = state_.workers.key(key);
    std::size_t have = state_.workers.given_up(key) ? count : info.idle.size() + info.on_their_way();
    for (; have < count; ++have) start(key);
  }
}

void WorkerSupply::start_in_turn() {
  ResourceSet available = state_.ledger.free();
  std::int64_t places_left = state_.places();
  std::uint32_t ending = state_.workers.count(WorkerState::kEnding) - static_cast<std::uint32_t>(state_.served.size());
  for (const Demand* demand : in_order_of_service(state_)) {
    const ResourceSet& asked = demand->asked();
    const bool dedicated = demand->wanted.dedicated;
    for (std::uint32_t unit = 0; unit < demand->wanted.count; ++unit) {
      const bool covered = (dedicated || places_left > 0) && available.covers(asked) && state_.devices.fits(asked);
      available.subtract(covered ? asked : kept_while_waiting(asked, available));  // kept for it, as when granting
      if (!covered || demand->wanted.needs_no_worker) break;
      dedicated ? ++needed_dedicated_ : --places_left;
      if (!lacks_worker(demand->key())) continue;
      if (dedicated || state_.workers.living() < state_.limits.max_workers + needed_dedicated_) {
        start(demand->key());
      } else if (ending > 0) {
        --ending;  // a worker that is about to end frees its place
      } else {
        make_room();
      }
    }
  }
}

// Counts one more needed worker of this key. True when no idle worker and no starting one is left for it.
bool WorkerSupply::lacks_worker(WorkerKeyId key) {
  const KeyInfo& info = state_.workers.key(key);
  return ++needed_[key] > info.idle.size() + info.on_their_way() && !state_.workers.given_up(key);
}

// Stops an idle worker that no demand needs: preferably one whose own tasks have all ended, of the key that was used
// longest ago.
bool WorkerSupply::make_room() {
  std::tuple<bool, std::uint64_t> best;
  ProcessId chosen = 0;
  for (const auto& [key, info] : state_.workers.keys()) {
    if (info.idle.size() <= needed(key)) continue;
    for (ProcessId worker : info.idle) {
      const std::tuple<bool, std::uint64_t> cost{state_.works_as_client(worker), info.last_use};
      if (chosen != 0 && best <= cost) continue;
      best = cost;
      chosen = worker;
    }
  }
  if (chosen != 0) state_.stop(chosen, false);
  return chosen != 0;
}

void WorkerSupply::start_ahead() {
  for (const auto& [key, count] : std::exchange(prestarts_, {})) {
    if (state_.workers.given_up(key)) continue;
    const KeyInfo& info = state_.workers.key(key);
    for (std::size_t have = info.idle.size() + info.on_their_way(); have < count; ++have) {
      if (state_.workers.living() >= state_.limits.max_workers) return;
      start(key);
    }
  }
}

void WorkerSupply::replace_lost() {
  for (const WorkerKeyId key : std::exchange(lost_, {})) {
    if (state_.workers.given_up(key) || state_.workers.serving(key) >= cpus()) continue;
    if (state_.workers.living() < state_.limits.max_workers) start(key);
  }
}

// Workers that demands need now are kept in any case. The first loop stops those above max_workers: a worker that was
// started for an actor which has ended since may be one too many.
std::optional<Moment> WorkerSupply::stop_surplus() {
  const std::uint32_t staying = state_.workers.living() - state_.workers.count(WorkerState::kEnding);
  const std::uint32_t allowed = state_.limits.max_workers + needed_dedicated_;
  for (std::uint32_t excess = allowed; excess < staying && make_room(); ++excess) {
  }
  const std::vector<WorkerKeyId> recent = state_.workers.recent_keys(kRecentKeys);
  std::vector<ProcessId> surplus;
  std::optional<Moment> next;
  for (const auto& [key, info] : state_.workers.keys()) {
    const bool is_recent = std::find(recent.begin(), recent.end(), key) != recent.end() && !unused_keys_.contains(key);
    const std::size_t kept = std::max<std::size_t>(needed(key), is_recent ? cpus() + state_.ledger.blocked() : 0);
    for (std::size_t i = 0; i + kept < info.idle.size(); ++i) {
      if (state_.works_as_client(info.idle[i])) continue;
      const Moment due = state_.workers.find(info.idle[i])->idle_since + kKeepSurplus;
      const bool idle_for_long = due <= state_.now;
      if (!is_recent || memory_is_scarce_ || idle_for_long) {
        surplus.push_back(info.idle[i]);
        continue;
      }
      if (!next || due < *next) next = due;
      break;  // the workers behind it became idle later
    }
  }
  for (ProcessId worker : surplus) state_.stop(worker, false);
  return next;
}

std::size_t WorkerSupply::needed(WorkerKeyId key) const {
  auto found = needed_.find(key);
  return found == needed_.end() ? 0 : found->second;
}

std::uint32_t WorkerSupply::cpus() const {
  const double cpus = std::ceil(state_.limits.total.amount("CPU"));
  return static_cast<std::uint32_t>(std::clamp(cpus, 1.0, static_cast<double>(state_.limits.max_workers)));
}

}  // namespace fray::scheduler
