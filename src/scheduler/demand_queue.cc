#include "scheduler/demand_queue.h"

#include <algorithm>

namespace fray::scheduler {

void DemandQueue::change(ProcessId client, const DemandChange& wanted) {
  const Name name{client, wanted.demand};
  if (wanted.count == 0) {
    demands_.erase(name);
    return;
  }
  auto [found, is_new] = demands_.try_emplace(name);
  Demand& demand = found->second;
  if (is_new) demand.since = ++order_;
  demand.client = client;
  demand.wanted = wanted;
  demand.reported = false;
}

void DemandQueue::drop_client(ProcessId client) {
  std::erase_if(demands_, [client](const auto& entry) { return entry.first.first == client; });
}

void DemandQueue::granted(ProcessId client, std::uint32_t demand) {
  auto found = demands_.find({client, demand});
  if (found == demands_.end()) return;
  if (--found->second.wanted.count == 0) {
    demands_.erase(found);
  } else {
    found->second.since = ++order_;
    found->second.waiting_since.reset();
  }
}

void DemandQueue::note_time(Moment now) {
  for (auto& [name, demand] : demands_) {
    if (!demand.waiting_since) demand.waiting_since = now;
  }
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
