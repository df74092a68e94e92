#include "scheduler/job_shares.h"

#include <set>
#include <utility>

namespace fray::scheduler {

ResourceSet JobShares::Share::held() const {
  ResourceSet held = rest;
  if (!lent) held.add(cpus);
  return held;
}

DeviceSet JobShares::started(ProcessId home, const ResourceSet& resources) {
  Share share;
  share.rest = resources;
  share.cpus.set_units("CPU", resources.units("CPU"));
  share.rest.set_units("CPU", 0);
  if (home == 0 || !shares_.emplace(home, std::move(share)).second) {
    state_.contradict();
    return {};
  }
  state_.changed = true;
  state_.ledger.set_aside(resources);
  return state_.devices.take(home, resources, true);
}

void JobShares::waits(ProcessId home, bool begins) {
  auto found = shares_.find(home);
  if (found == shares_.end()) return;  // the job ended before its process did
  state_.changed = true;
  found->second.waiting += begins ? 1 : -1;
}

void JobShares::ended(ProcessId home) {
  auto found = shares_.find(home);
  if (found == shares_.end()) return state_.contradict();
  state_.changed = true;
  state_.ledger.put_back(found->second.held());
  shares_.erase(found);
  state_.devices.left(home);
  state_.ledger.forget_tree(home);
}

void JobShares::lend() {
  if (shares_.empty()) return;
  std::set<ProcessId> working;
  for (const Demand* demand : state_.demands.all()) working.insert(state_.ledger.tree(demand->client));
  for (const auto& [name, group] : state_.ledger.groups()) working.insert(state_.ledger.tree(name.first));
  for (auto& [home, share] : shares_) {
    const bool lends = share.waiting > 0 || working.contains(home);
    if (std::exchange(share.lent, lends) == lends) continue;
    lends ? state_.ledger.put_back(share.cpus) : state_.ledger.set_aside(share.cpus);
  }
}

ResourceSet JobShares::room() const {
  ResourceSet left = state_.ledger.beside_actors();
  for (const auto& [home, share] : shares_) left.subtract(share.held());
  for (const auto& [name, group] : state_.ledger.groups()) {
    if (group.dedicated || !is_job(name.first)) continue;
    for (std::uint32_t i = 0; i < group.running; ++i) left.subtract(group.shape.resources);
  }
  for (const Demand* demand : state_.demands.all()) {
    if (!demand->reported && !demand->wanted.dedicated && is_job(demand->client)) left.subtract(demand->asked());
  }
  ResourceSet room = state_.ledger.free();
  room.set_units("CPU", left.units("CPU"));
  return room;
}

}  // namespace fray::scheduler
