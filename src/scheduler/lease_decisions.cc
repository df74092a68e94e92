// The decisions of the LeaseTable, made once a round, after all of its events: which demands are refused or granted,
// which workers start or stop, and which leases are asked back.
#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/amount_text.h"
#include "model/reservation.h"
#include "model/resource_text.h"
#include "scheduler/lease_table.h"
#include "scheduler/reclaim_policy.h"

namespace fray::scheduler {

// The order of the steps matters:
// - Resources that jobs lend become free first, for all later steps.
// - Hopeless demands are refused, and devices of served workers freed, before anything is granted: they must not keep
//   resources from other demands.
// - Idle workers are granted before others are started.
// - start_for_demands() counts the workers that are needed, and stop_surplus() keeps those.
// - Leases are asked back last, for what is still missing.
std::vector<Command> LeaseTable::take_commands() {
  if (changed_) {
    changed_ = false;
    demands_.note_time(now_);
    lend_what_jobs_hold();
    refuse_given_up();
    stop_served();
    grant_all();
    start_for_demands();
    start_for_prestart();
    replace_lost();
    const std::optional<Moment> next_stop = stop_surplus();
    reclaim();
    next_due_ = next_gain(demands_, ledger_, now_);
    if (next_stop && (!next_due_ || *next_stop < *next_due_)) next_due_ = next_stop;
  }
  return std::exchange(commands_, {});
}

void LeaseTable::refuse_given_up() {
  if (!workers_.any_given_up()) return;
  for (Demand* demand : demands_.all()) {
    const WorkerKeyId key = demand->wanted.shape.key;
    if (demand->reported || !workers_.given_up(key) || workers_.key(key).on_their_way() > 0) continue;
    if (!workers_.key(key).idle.empty()) continue;
    demand->reported = true;
    commands_.emplace_back(RefuseDemand{.client = demand->client,
                                        .demand = demand->wanted.demand,
                                        .reason = reason(*demand).text,
                                        .code = StatusCode::kUnavailable});
  }
}

// The demands in the order of service, without those whose workers cannot be started, and those for whole devices of
// which actors hold shares: keeping resources for these would help neither them nor others.
std::vector<Demand*> LeaseTable::servable() {
  std::vector<Demand*> ordered = in_order_of_service(demands_, ledger_, now_);
  std::erase_if(ordered, [this](const Demand* demand) {
    return is_hopeless(demand->wanted.shape.key) || !devices_.fits_beside_actors(demand->wanted.shape.resources);
  });
  return ordered;
}

bool LeaseTable::is_hopeless(WorkerKeyId key) const {
  const KeyInfo& info = workers_.key(key);
  return workers_.given_up(key) && info.idle.empty() && info.on_their_way() == 0;
}

void LeaseTable::grant_all() {
  std::vector<WorkerKeyId> keys;
  for (const auto& [key, waiting] : demands_.at_once()) keys.push_back(key);
  for (const WorkerKeyId key : keys) {
    const KeyInfo& info = workers_.key(key);
    for (auto of_key = demands_.at_once().find(key); of_key != demands_.at_once().end() && !info.idle.empty();
         of_key = demands_.at_once().find(key)) {
      grant(*of_key->second.begin()->second, info.idle.back());
    }
  }
  // One lease at a time, because each grant changes the order of service: a tree without leases comes first.
  while (!demands_.in_turn().empty() && grant_first()) {
  }
}

// Grants one lease to the first demand that can have it. The demands before it keep what they will need: `available` is
// lessened by it even where it does not suffice, and may become negative. Otherwise small demands would take each bit
// that comes free, and a large one would wait forever.
bool LeaseTable::grant_first() {
  ResourceSet available = ledger_.free();
  std::int64_t places_left = places();
  for (const Demand* demand : servable()) {
    const bool has_place = demand->wanted.dedicated || places_left > 0;
    const bool covered =
        has_place && available.covers(demand->wanted.shape.resources) && devices_.fits(demand->wanted.shape.resources);
    if (covered && demand->wanted.needs_no_worker) {
      grant_reservation(*demand);
      return true;
    }
    const KeyInfo& info = workers_.key(demand->wanted.shape.key);
    if (covered && !info.idle.empty()) {
      grant(*demand, info.idle.back());
      return true;
    }
    if (covered && !demand->wanted.dedicated) --places_left;  // only a worker of its key is missing
    const ResourceSet& asked = demand->wanted.shape.resources;
    available.subtract(covered ? asked : kept_while_waiting(asked, available));
  }
  return false;
}

// How many more workers could be leased. Idle workers are counted in, because they can be stopped to make room for
// those of other keys.
std::int64_t LeaseTable::places() const {
  return static_cast<std::int64_t>(limits_.max_workers) - static_cast<std::int64_t>(workers_.leased()) -
         static_cast<std::int64_t>(served_.size());
}

void LeaseTable::grant(const Demand& demand, ProcessId worker) {
  const ProcessId client = demand.client;
  const std::uint32_t number = demand.wanted.demand;
  const LeaseId lease = ledger_.grant({.client = client,
                                       .demand = number,
                                       .worker = worker,
                                       .shape = demand.wanted.shape,
                                       .dedicated = demand.wanted.dedicated});
  DeviceSet devices = devices_.take(worker, demand.wanted.shape.resources, demand.wanted.dedicated);
  workers_.lease(worker, lease, demand.wanted.dedicated);
  demands_.granted(client, number);
  commands_.emplace_back(
      GrantLease{.lease = lease, .client = client, .demand = number, .worker = worker, .devices = std::move(devices)});
}

void LeaseTable::start_for_demands() {
  needed_.clear();
  needed_dedicated_ = 0;
  for (const auto& [key, waiting] : demands_.at_once()) {
    if (is_hopeless(key)) continue;
    const auto count = static_cast<std::uint32_t>(waiting.size());
    needed_dedicated_ += count;
    needed_[key] += count;
    const KeyInfo& info = workers_.key(key);
    std::size_t have = workers_.given_up(key) ? count : info.idle.size() + info.on_their_way();
    for (; have < count; ++have) start(key);
  }
  ResourceSet available = ledger_.free();
  std::int64_t places_left = places();
  std::uint32_t ending = workers_.count(WorkerState::kEnding) - static_cast<std::uint32_t>(served_.size());
  for (const Demand* demand : servable()) {
    const bool dedicated = demand->wanted.dedicated;
    for (std::uint32_t unit = 0; unit < demand->wanted.count; ++unit) {
      const bool covered = (dedicated || places_left > 0) && available.covers(demand->wanted.shape.resources) &&
                           devices_.fits(demand->wanted.shape.resources);
      const ResourceSet& asked = demand->wanted.shape.resources;
      available.subtract(covered ? asked : kept_while_waiting(asked, available));  // kept for it, as when granting
      if (!covered || demand->wanted.needs_no_worker) break;
      dedicated ? ++needed_dedicated_ : --places_left;
      const WorkerKeyId key = demand->wanted.shape.key;
      if (!lacks_worker(key)) continue;
      if (dedicated || workers_.living() < limits_.max_workers + needed_dedicated_) {
        start(key);
      } else if (ending > 0) {
        --ending;  // a worker that is about to end frees its place
      } else {
        make_room(needed_);
      }
    }
  }
}

// Counts one more needed worker of this key. True when no idle worker and no starting one is left for it.
bool LeaseTable::lacks_worker(WorkerKeyId key) {
  const KeyInfo& info = workers_.key(key);
  return ++needed_[key] > info.idle.size() + info.on_their_way() && !workers_.given_up(key);
}

// Stops an idle worker that no demand needs: preferably one whose own tasks have all ended, of the key that was used
// longest ago.
bool LeaseTable::make_room(const std::map<WorkerKeyId, std::uint32_t>& needed) {
  std::tuple<bool, std::uint64_t> best;
  ProcessId chosen = 0;
  for (const auto& [key, info] : workers_.keys()) {
    auto found = needed.find(key);
    const std::size_t wanted = found == needed.end() ? 0 : found->second;
    if (info.idle.size() <= wanted) continue;
    for (ProcessId worker : info.idle) {
      const std::tuple<bool, std::uint64_t> cost{works_as_client(worker), info.last_use};
      if (chosen != 0 && best <= cost) continue;
      best = cost;
      chosen = worker;
    }
  }
  if (chosen != 0) stop(chosen, false);
  return chosen != 0;
}

bool LeaseTable::works_as_client(ProcessId worker) const {
  auto group = ledger_.groups().lower_bound({worker, 0});
  return demands_.waits(worker) || (group != ledger_.groups().end() && group->first.first == worker);
}

void LeaseTable::start_for_prestart() {
  for (const auto& [key, count] : std::exchange(prestarts_, {})) {
    if (workers_.given_up(key)) continue;
    const KeyInfo& info = workers_.key(key);
    for (std::size_t have = info.idle.size() + info.on_their_way(); have < count; ++have) {
      if (workers_.living() >= limits_.max_workers) return;
      start(key);
    }
  }
}

void LeaseTable::replace_lost() {
  for (const WorkerKeyId key : std::exchange(lost_, {})) {
    if (workers_.given_up(key) || workers_.serving(key) >= cpus()) continue;
    if (workers_.living() < limits_.max_workers) start(key);
  }
}

// Of the keys that were used last, as many idle workers are kept as there are CPUs, and one more for each blocked
// worker, in whose place another one may run until it resumes; the others end when they have been idle for
// kKeepSurplus, or when memory is scarce. Of other keys none are kept. Workers that demands need now are kept in any
// case. The first loop stops those above max_workers: a worker that was started for an actor which has ended since may
// be one too many.
std::optional<Moment> LeaseTable::stop_surplus() {
  const std::uint32_t staying = workers_.living() - workers_.count(WorkerState::kEnding);
  const std::uint32_t allowed = limits_.max_workers + needed_dedicated_;
  for (std::uint32_t excess = allowed; excess < staying && make_room(needed_); ++excess) {
  }
  const std::vector<WorkerKeyId> recent = workers_.recent_keys(kRecentKeys);
  std::vector<ProcessId> surplus;
  std::optional<Moment> next;
  for (const auto& [key, info] : workers_.keys()) {
    const bool is_recent = std::find(recent.begin(), recent.end(), key) != recent.end() && !unused_keys_.contains(key);
    auto found = needed_.find(key);
    const std::size_t needed = found == needed_.end() ? 0 : found->second;
    const std::size_t kept = std::max<std::size_t>(needed, is_recent ? cpus() + ledger_.blocked() : 0);
    for (std::size_t i = 0; i + kept < info.idle.size(); ++i) {
      if (works_as_client(info.idle[i])) continue;
      const Moment due = workers_.find(info.idle[i])->idle_since + kKeepSurplus;
      const bool idle_for_long = due <= now_;
      if (!is_recent || memory_is_scarce_ || idle_for_long) {
        surplus.push_back(info.idle[i]);
        continue;
      }
      if (!next || due < *next) next = due;
      break;  // the workers behind it became idle later
    }
  }
  for (ProcessId worker : surplus) stop(worker, false);
  return next;
}

void LeaseTable::stop_served() {
  std::erase_if(served_, [this](ProcessId worker) {
    if (works_as_client(worker)) return false;
    devices_.resume(worker);  // until the worker has left
    stop(worker, false);
    return true;
  });
}

void LeaseTable::reclaim() {
  if (demands_.empty()) return;
  for (const ReclaimLeases& request : plan_reclaims(servable(), demands_, ledger_, devices_, places(), now_)) {
    ledger_.asked_back({request.client, request.demand}, request.count);
    commands_.emplace_back(request);
  }
}

namespace {

ResourceSet part_of(const ResourceSet& whole, const ResourceSet& asked) {
  ResourceSet part;
  for (const auto& [name, units] : asked.units()) {
    auto found = whole.units().find(name);
    part.set_units(name, found == whole.units().end() ? 0 : found->second);
  }
  return part;
}

std::string amounts(const ResourceSet& set, const ResourceSet& asked) {
  std::string text;
  for (const auto& [name, units] : asked.units()) {
    if (!text.empty()) text += ", ";
    if (asked.units().size() > 1) text += name + " ";
    text += amount_text(name, set.amount(name), asked.amount(name));
  }
  return text;
}

}  // namespace

WaitReason LeaseTable::reason(const Demand& demand) const {
  const ResourceSet& asked = demand.wanted.shape.resources;
  const ResourceSet has = part_of(ledger_.total(), asked);
  if (!ledger_.total().covers(asked)) {
    return {fmt::format("waits for {}: the node has {} in all", text_beside(asked, has), text_beside(has, asked)),
            "It can never start here: cancel it and ask for less, or start a node with more."};
  }
  if (!ledger_.beside_actors().covers(asked)) {
    return {fmt::format("waits for {}: the node has {}, and actors leave {}", asked.to_string(),
                        text_beside(has, asked), amounts(ledger_.beside_actors(), asked)),
            "It starts when an actor that holds them ends: end one, or let actors ask for less."};
  }
  if (!ledger_.free().covers(asked)) {
    return {fmt::format("waits for {}: the node has {}, of which {} is free", asked.to_string(),
                        text_beside(has, asked), amounts(ledger_.free(), asked)),
            "It starts when running tasks give back enough; nothing needs to be done."};
  }
  if (!devices_.fits(asked)) {
    return {fmt::format("waits for {} on devices that are still in use", asked.to_string()),
            "It starts when a task or an actor on these devices ends."};
  }
  const KeyInfo& info = workers_.key(demand.wanted.shape.key);
  if (workers_.given_up(demand.wanted.shape.key)) {
    return {fmt::format("its workers cannot be started: the last {} starts failed", info.failures),
            "It is about to fail with the reason; the node's log has what the workers wrote."};
  }
  if (info.on_their_way() > 0) return {"waits for a worker to start", "It runs as soon as the worker is ready."};
  if (workers_.living() >= limits_.max_workers && !demand.wanted.dedicated) {
    if (ledger_.blocked() == workers_.living()) {
      return {fmt::format("waits: {} workers exist, the limit, and all of them wait themselves", limits_.max_workers),
              "Start the node with a higher --max-workers, or let tasks wait less deeply for one another."};
    }
    return {fmt::format("waits: {} workers exist, the limit", limits_.max_workers),
            "It starts when a worker is free; --max-workers of the node allows more."};
  }
  return {fmt::format("waits for {}: what is free is kept for a demand before it", asked.to_string()),
          "It starts after the tasks before it; a higher priority would put it in front."};
}

std::vector<Waiting> LeaseTable::waiting() const {
  std::vector<Waiting> rows;
  for (const Demand* demand : demands_.all()) {
    WaitReason why = reason(*demand);
    rows.push_back({.client = demand->client,
                    .demand = demand->wanted.demand,
                    .count = demand->wanted.count,
                    .shape = demand->wanted.shape,
                    .dedicated = demand->wanted.dedicated,
                    .since = demand->waiting_since.value_or(now_),
                    .reason = std::move(why.text),
                    .way_on = std::move(why.way_on)});
  }
  return rows;
}

WaitReason LeaseTable::why_waiting(ProcessId client) const {
  const Demand* demand = demands_.first(client);
  return demand == nullptr ? WaitReason() : reason(*demand);
}

}  // namespace fray::scheduler
