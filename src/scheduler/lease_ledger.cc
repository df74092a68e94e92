#include "scheduler/lease_ledger.h"

#include <algorithm>

namespace fray::scheduler {

LeaseId LeaseLedger::grant(HeldLease lease) {
  lease.id = ++last_lease_;
  free_.subtract(lease.shape.resources);
  if (lease.dedicated) beside_actors_.subtract(lease.shape.resources);
  if (lease.takes_turns()) {
    LeaseGroup& group = groups_[{lease.client, lease.demand}];
    ++group.running;
    group.shape = lease.shape;
    group.dedicated = lease.dedicated;
    served_[tree(lease.client)] = lease.id;
  }
  if (lease.worker != 0) lease_of_worker_[lease.worker] = lease.id;
  leases_.emplace(lease.id, std::move(lease));
  return last_lease_;
}

void LeaseLedger::end(LeaseId lease) {
  auto found = leases_.find(lease);
  if (found == leases_.end()) return;
  HeldLease& held = found->second;
  if (held.holds_nothing()) --blocked_;
  if (!held.holds_nothing()) free_.add(held.shape.resources);
  if (held.dedicated) beside_actors_.add(held.shape.resources);
  if (!held.orphaned) leave_group(held, true);
  lease_of_worker_.erase(held.worker);
  leases_.erase(found);
}

bool LeaseLedger::set_blocked(LeaseId lease, bool blocked) {
  auto found = leases_.find(lease);
  if (found == leases_.end() || found->second.blocked == blocked) return false;
  HeldLease& held = found->second;
  held.blocked = blocked;
  if (held.dedicated) return true;
  blocked ? ++blocked_ : --blocked_;
  blocked ? free_.add(held.shape.resources) : free_.subtract(held.shape.resources);
  if (held.orphaned) return true;
  LeaseGroup& group = groups_[{held.client, held.demand}];
  --(blocked ? group.running : group.blocked);
  ++(blocked ? group.blocked : group.running);
  return true;
}

std::vector<LeaseId> LeaseLedger::orphan(ProcessId client) {
  std::vector<LeaseId> orphans;
  for (auto& [id, held] : leases_) {
    if (held.client != client || held.orphaned) continue;
    leave_group(held, false);
    held.orphaned = true;
    orphans.push_back(id);
  }
  std::sort(orphans.begin(), orphans.end());
  return orphans;
}

void LeaseLedger::asked_back(GroupName name, std::uint32_t count) {
  auto found = groups_.find(name);
  if (found == groups_.end()) return;
  LeaseGroup& group = found->second;
  group.asked = std::min(group.asked + count, group.running + group.blocked);
}

void LeaseLedger::leave_group(const HeldLease& lease, bool given_back) {
  auto found = groups_.find({lease.client, lease.demand});
  if (found == groups_.end()) return;
  LeaseGroup& group = found->second;
  --(lease.holds_nothing() ? group.blocked : group.running);
  if (given_back && group.asked > 0) --group.asked;
  if (group.running + group.blocked == 0) groups_.erase(found);
}

const HeldLease* LeaseLedger::find(LeaseId lease) const {
  auto found = leases_.find(lease);
  return found == leases_.end() ? nullptr : &found->second;
}

std::uint32_t LeaseLedger::running(ProcessId client) const {
  std::uint32_t running = 0;
  for (auto each = groups_.lower_bound({client, 0}); each != groups_.end() && each->first.first == client; ++each) {
    running += each->second.running;
  }
  return running;
}

std::uint32_t LeaseLedger::held(const GroupName& group) const {
  auto found = groups_.find(group);
  return found == groups_.end() ? 0 : found->second.running + found->second.blocked;
}

ProcessId LeaseLedger::tree(ProcessId client) const {
  // The number of steps is bounded, because idle workers with demands of their own could lease each other in a circle.
  for (std::size_t step = 0; step <= leases_.size() + parents_.size(); ++step) {
    if (auto lease = lease_of_worker_.find(client); lease != lease_of_worker_.end()) {
      client = leases_.at(lease->second).client;
    } else if (auto parent = parents_.find(client); parent != parents_.end()) {
      client = parent->second;
    } else {
      break;
    }
  }
  return client;
}

void LeaseLedger::forget_tree(ProcessId tree) {
  served_.erase(tree);
  std::erase_if(parents_, [tree](const auto& each) { return each.first == tree || each.second == tree; });
}

std::map<ProcessId, std::uint32_t> LeaseLedger::running_by_tree() const {
  std::map<ProcessId, std::uint32_t> running;
  for (const auto& [name, group] : groups_) running[tree(name.first)] += group.running;
  return running;
}

std::uint64_t LeaseLedger::last_served(ProcessId tree) const {
  auto found = served_.find(tree);
  return found == served_.end() ? 0 : found->second;
}

}  // namespace fray::scheduler
