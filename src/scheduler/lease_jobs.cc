// Jobs in the LeaseTable: the resources that they hold and lend, and what is left for further jobs.
#include <set>

#include "scheduler/lease_table.h"

namespace fray::scheduler {

DeviceSet LeaseTable::job_started(ProcessId home, const ResourceSet& resources) {
  if (home == 0 || jobs_.contains(home)) {
    contradict();
    return {};
  }
  changed_ = true;
  ledger_.set_aside(jobs_.begin(home, resources));
  return devices_.take(home, resources, true);
}

void LeaseTable::job_waits(ProcessId home, bool begins) {
  if (!jobs_.contains(home)) return;  // the job ended before its process did
  changed_ = true;
  jobs_.waits(home, begins);
}

void LeaseTable::job_ended(ProcessId home) {
  if (!jobs_.contains(home)) return contradict();
  changed_ = true;
  ledger_.put_back(jobs_.end(home));
  devices_.left(home);
  ledger_.forget_tree(home);
}

void LeaseTable::lend_what_jobs_hold() {
  if (jobs_.empty()) return;
  std::set<ProcessId> working;
  for (const Demand* demand : demands_.all()) working.insert(ledger_.tree(demand->client));
  for (const auto& [name, group] : ledger_.groups()) working.insert(ledger_.tree(name.first));
  const JobShares::Change change = jobs_.settle([&](ProcessId home) { return working.contains(home); });
  ledger_.put_back(change.lent);
  ledger_.set_aside(change.taken_back);
}

ResourceSet LeaseTable::room_for_jobs() const {
  ResourceSet left = ledger_.beside_actors();
  left.subtract(jobs_.held());
  for (const auto& [name, group] : ledger_.groups()) {
    if (group.dedicated || !jobs_.contains(ledger_.tree(name.first))) continue;
    for (std::uint32_t i = 0; i < group.running; ++i) left.subtract(group.shape.resources);
  }
  for (const Demand* demand : demands_.all()) {
    if (demand->reported || demand->wanted.dedicated || !jobs_.contains(ledger_.tree(demand->client))) continue;
    left.subtract(demand->wanted.shape.resources);
  }
  ResourceSet room = ledger_.free();
  if (auto cpus = left.units().find("CPU"); cpus != left.units().end()) {
    room.set_units("CPU", cpus->second);
  } else {
    room.set_units("CPU", 0);
  }
  return room;
}

}  // namespace fray::scheduler
