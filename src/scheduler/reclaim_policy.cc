#include "scheduler/reclaim_policy.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "model/reservation.h"

namespace fray::scheduler {

namespace {

using GroupName = LeaseLedger::GroupName;

// The resources that will be free once all leases that were asked back have returned and the demands ahead were served.
struct Forecast {
  ResourceSet coming;
  std::int64_t places = 0;
  std::map<ProcessId, std::int64_t> running_of_tree;
  std::map<ProcessId, std::int64_t> running_of_client;
  std::map<GroupName, std::int64_t> running_of_group;
  std::map<GroupName, std::int64_t> to_give;  // running leases that were not asked back yet
  std::map<GroupName, std::uint32_t> asks;
};

// The priority that waiting demands have gained; see the header.
class Ageing {
 public:
  explicit Ageing(const LeaseState& state) : now_(state.now) {
    highest_ = std::max(highest_, state.demands.highest_priority().value_or(highest_));
    for (const auto& [name, group] : state.ledger.groups()) {
      if (group.running > 0 && !group.dedicated) highest_ = std::max(highest_, group.shape.priority);
    }
  }

  std::int32_t priority(const Demand& demand) const {
    const std::int32_t own = demand.wanted.shape.priority;
    return static_cast<std::int32_t>(std::min<std::int64_t>(highest_, own + steps(demand)));
  }
  // When `demand` gains the next step; none when it has the highest priority already.
  std::optional<Moment> next_gain(const Demand& demand) const {
    if (priority(demand) >= highest_) return std::nullopt;
    return demand.waiting_since.value_or(now_) + kStep * (steps(demand) + 1);
  }

 private:
  static constexpr Moment kStep = std::chrono::seconds(1);

  std::int64_t steps(const Demand& demand) const {
    return demand.waiting_since ? std::max<std::int64_t>(0, (now_ - *demand.waiting_since) / kStep) : 0;
  }

  Moment now_;
  std::int32_t highest_ = std::numeric_limits<std::int32_t>::min();
};

class Planner {
 public:
  explicit Planner(const LeaseState& state);
  void serve(const Demand& demand);
  std::vector<ReclaimLeases> requests() const;

 private:
  bool covered(const Demand& demand) const;
  bool gather(const Demand& demand);
  void take(const Demand& demand);
  void give(const GroupName& name, const LeaseGroup& group);
  bool helps(const Demand& demand, const LeaseGroup& group) const;
  bool waits_for_more_urgent(ProcessId client, std::int64_t depth) const;
  bool may_ask(const Demand& demand, const GroupName& name, const LeaseGroup& group) const;
  ProcessId tree(ProcessId client) const { return ledger_.tree(client); }
  template <typename Map, typename Key>
  static std::int64_t count(const Map& map, const Key& key) {
    auto found = map.find(key);
    return found == map.end() ? 0 : found->second;
  }

  const LeaseState& state_;
  const LeaseLedger& ledger_;
  const Ageing clock_;
  std::int32_t priority_ = 0;  // the gained priority of the demand that is being served
  Forecast now_;
};

Planner::Planner(const LeaseState& state) : state_(state), ledger_(state.ledger), clock_(state) {
  now_.coming = ledger_.free();
  now_.places = state.places();
  for (const auto& [name, group] : ledger_.groups()) {
    const std::uint32_t asked = std::min(group.asked, group.running);
    const std::int64_t staying = static_cast<std::int64_t>(group.running) - asked;
    for (std::uint32_t i = 0; i < asked; ++i) now_.coming.add(group.shape.resources);
    now_.places += asked;
    now_.running_of_tree[tree(name.first)] += staying;
    now_.running_of_client[name.first] += staying;
    now_.running_of_group[name] += staying;
    if (!group.dedicated) now_.to_give[name] = staying;
  }
}

bool Planner::covered(const Demand& demand) const {
  return (demand.wanted.dedicated || now_.places > 0) &&
         now_.coming.covers(state_.devices.with_fragments(demand.asked()));
}

void Planner::take(const Demand& demand) {
  now_.coming.subtract(demand.asked());
  if (!demand.wanted.dedicated) --now_.places;
  ++now_.running_of_tree[tree(demand.client)];
  ++now_.running_of_client[demand.client];
  ++now_.running_of_group[{demand.client, demand.wanted.demand}];
}

void Planner::give(const GroupName& name, const LeaseGroup& group) {
  now_.coming.add(group.shape.resources);
  ++now_.places;
  --now_.running_of_tree[tree(name.first)];
  --now_.running_of_client[name.first];
  --now_.running_of_group[name];
  --now_.to_give[name];
  ++now_.asks[name];
}

void Planner::serve(const Demand& demand) {
  priority_ = clock_.priority(demand);
  for (std::uint32_t unit = 0; unit < demand.wanted.count; ++unit) {
    if (unit > 0) priority_ = demand.wanted.shape.priority;  // its first lease resets its wait
    if (!covered(demand) && !gather(demand)) {
      now_.coming.subtract(kept_while_waiting(demand.asked(), now_.coming));  // as when granting
      return;
    }
    // The holders of its devices may keep them for long, and its client runs nothing until then.
    if (!state_.devices.fits(demand.asked())) {
      now_.coming.subtract(demand.asked());
      continue;
    }
    take(demand);
  }
}

bool Planner::gather(const Demand& demand) {
  const Forecast before = now_;
  while (!covered(demand)) {
    const LeaseGroup* chosen = nullptr;
    GroupName chosen_name;
    for (const auto& [name, group] : ledger_.groups()) {
      if (!helps(demand, group) || !may_ask(demand, name, group)) continue;
      if (chosen != nullptr &&
          count(now_.running_of_client, name.first) <= count(now_.running_of_client, chosen_name.first)) {
        continue;
      }
      chosen = &group;
      chosen_name = name;
    }
    if (chosen == nullptr) {
      now_ = before;
      return false;
    }
    give(chosen_name, *chosen);
  }
  return true;
}

bool Planner::helps(const Demand& demand, const LeaseGroup& group) const {
  if (!demand.wanted.dedicated && now_.places <= 0) return true;
  const ResourceSet needed = state_.devices.with_fragments(demand.asked());
  for (const auto& [name, units] : needed.units()) {
    if (now_.coming.amount(name) >= needed.amount(name)) continue;
    if (group.shape.resources.amount(name) > 0) return true;
  }
  return false;
}

bool Planner::may_ask(const Demand& demand, const GroupName& name, const LeaseGroup& group) const {
  if (count(now_.to_give, name) <= 0) return false;
  const ProcessId asked = name.first;
  const ProcessId asker = demand.client;
  const std::int64_t depth = demand.wanted.shape.depth;
  // A client that gave a lease to a less urgent demand would be asked for one the next moment.
  const bool urgent = depth >= group.shape.depth && priority_ > group.shape.priority;
  const bool yields = depth > group.shape.depth || priority_ >= group.shape.priority;
  if (asked == asker) {
    if (name.second == demand.wanted.demand) return false;
    if (urgent || !yields) return urgent;
    const bool wants_more = state_.demands.find(asked, name.second) != nullptr;
    const GroupName own{asker, demand.wanted.demand};
    return !wants_more || (count(now_.running_of_group, own) == 0 && depth >= group.shape.depth);
  }
  const bool one_tree = tree(asked) == tree(asker);
  if (!one_tree && count(now_.running_of_tree, tree(asker)) == 0) return true;
  if (!yields || waits_for_more_urgent(asked, depth)) return false;
  if (urgent && (one_tree || count(now_.running_of_tree, tree(asked)) >= 2)) return true;
  const std::int64_t theirs = count(now_.running_of_client, asked);
  const std::int64_t ours = count(now_.running_of_client, asker);
  if (ours == 0 && (theirs >= 2 || depth >= group.shape.depth)) return true;
  if (theirs >= ours + 2) return true;
  return one_tree && !state_.demands.waits(asked) && depth > group.shape.depth;
}

// Whether the client waits for something more urgent than the demand that is being served.
bool Planner::waits_for_more_urgent(ProcessId client, std::int64_t depth) const {
  const std::pair<std::int64_t, std::int32_t> served{depth, priority_};
  return state_.demands.any(client, [&](const Demand& each) {
    return std::pair<std::int64_t, std::int32_t>(each.wanted.shape.depth, clock_.priority(each)) > served;
  });
}

std::vector<ReclaimLeases> Planner::requests() const {
  std::vector<ReclaimLeases> requests;
  for (const auto& [name, number] : now_.asks) {
    requests.push_back({.client = name.first, .count = number, .demand = name.second});
  }
  return requests;
}

}  // namespace

std::vector<Demand*> in_order_of_service(const LeaseState& state) {
  const LeaseLedger& ledger = state.ledger;
  const Ageing clock(state);
  const auto by_tree = ledger.running_by_tree();
  const auto rank = [&](const Demand& demand) {
    const ProcessId tree = ledger.tree(demand.client);
    auto found = by_tree.find(tree);
    const bool tree_runs = found != by_tree.end() && found->second > 0;
    return std::tuple(tree_runs, tree_runs ? 0 : ledger.last_served(tree),
                      -static_cast<std::int64_t>(demand.wanted.shape.depth), -clock.priority(demand),
                      ledger.running(demand.client), demand.since);
  };
  std::vector<std::pair<decltype(rank(std::declval<const Demand&>())), Demand*>> ranked;
  for (const auto& [name, demand] : state.demands.in_turn()) {
    const ResourceSet& asked = demand->asked();
    if (!ledger.beside_actors().covers(asked) || !state.devices.fits_beside_actors(asked)) continue;
    if (!state.is_hopeless(*demand)) ranked.emplace_back(rank(*demand), demand);
  }
  std::sort(ranked.begin(), ranked.end());  // `since` differs between demands, so pointers never decide
  std::vector<Demand*> ordered;
  for (const auto& [key, demand] : ranked) ordered.push_back(demand);
  return ordered;
}

std::vector<ReclaimLeases> plan_reclaims(const LeaseState& state) {
  Planner planner(state);
  for (const Demand* demand : in_order_of_service(state)) planner.serve(*demand);
  return planner.requests();
}

std::optional<Moment> next_gain(const LeaseState& state) {
  const Ageing clock(state);
  std::optional<Moment> next;
  for (const auto& [name, demand] : state.demands.in_turn()) {
    const std::optional<Moment> gain = clock.next_gain(*demand);
    if (gain && (!next || *gain < *next)) next = gain;
  }
  return next;
}

}  // namespace fray::scheduler
