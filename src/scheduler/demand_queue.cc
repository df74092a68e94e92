#include "scheduler/demand_queue.h"

#include <utility>

namespace fray::scheduler {

void DemandQueue::enter(const Name& name, Demand& demand) {
  ++priorities_[demand.wanted.shape.priority];
  auto& among = demand.wanted.at_once() ? at_once_[demand.wanted.shape.key] : in_turn_;
  among.emplace(name, &demand);
}

void DemandQueue::leave(const Name& name, const Demand& demand) {
  auto priority = priorities_.find(demand.wanted.shape.priority);
  if (--priority->second == 0) priorities_.erase(priority);
  if (!demand.wanted.at_once()) {
    in_turn_.erase(name);
    return;
  }
  auto of_key = at_once_.find(demand.wanted.shape.key);
  of_key->second.erase(name);
  if (of_key->second.empty()) at_once_.erase(of_key);
}

void DemandQueue::change(ProcessId client, const DemandChange& wanted) {
  const Name name{client, wanted.demand};
  auto found = demands_.find(name);
  if (found != demands_.end()) leave(name, found->second);
  if (wanted.count == 0) {
    if (found != demands_.end()) demands_.erase(found);
    return;
  }
  if (found == demands_.end()) {
    found = demands_.try_emplace(name).first;
    found->second.since = ++order_;
    unseen_.push_back(name);
  }
  Demand& demand = found->second;
  demand.client = client;
  demand.wanted = wanted;
  demand.reported = false;
  enter(name, demand);
}

void DemandQueue::drop_client(ProcessId client) {
  auto each = demands_.lower_bound({client, 0});
  while (each != demands_.end() && each->first.first == client) {
    leave(each->first, each->second);
    each = demands_.erase(each);
  }
}

void DemandQueue::granted(ProcessId client, std::uint32_t demand) {
  auto found = demands_.find({client, demand});
  if (found == demands_.end()) return;
  if (--found->second.wanted.count == 0) {
    leave(found->first, found->second);
    demands_.erase(found);
  } else {
    found->second.since = ++order_;
    found->second.waiting_since.reset();
    unseen_.push_back(found->first);
  }
}

void DemandQueue::note_time(Moment now) {
  for (const Name& name : std::exchange(unseen_, {})) {
    Demand* demand = find(name.first, name.second);
    if (demand != nullptr && !demand->waiting_since) demand->waiting_since = now;
  }
}

std::optional<std::int32_t> DemandQueue::highest_priority() const {
  if (priorities_.empty()) return std::nullopt;
  return priorities_.rbegin()->first;
}

void DemandQueue::goes_behind(ProcessId client, std::uint32_t demand) {
  Demand* found = find(client, demand);
  if (found == nullptr) return;
  found->since = ++order_;
}

Demand* DemandQueue::find(ProcessId client, std::uint32_t demand) {
  auto found = demands_.find({client, demand});
  return found == demands_.end() ? nullptr : &found->second;
}

const Demand* DemandQueue::find(ProcessId client, std::uint32_t demand) const {
  auto found = demands_.find({client, demand});
  return found == demands_.end() ? nullptr : &found->second;
}

const Demand* DemandQueue::first(ProcessId client) const {
  auto found = demands_.lower_bound({client, 0});
  return found != demands_.end() && found->first.first == client ? &found->second : nullptr;
}

std::vector<Demand*> DemandQueue::all() {
  std::vector<Demand*> demands;
  for (auto& [name, demand] : demands_) demands.push_back(&demand);
  return demands;
}

std::vector<const Demand*> DemandQueue::all() const {
  std::vector<const Demand*> demands;
  for (const auto& [name, demand] : demands_) demands.push_back(&demand);
  return demands;
}

}  // namespace fray::scheduler
