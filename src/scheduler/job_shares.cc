#include "scheduler/job_shares.h"

#include <utility>

namespace fray::scheduler {

ResourceSet JobShares::begin(ProcessId home, ResourceSet resources) {
  Share share;
  if (auto cpus = resources.units().find("CPU"); cpus != resources.units().end()) {
    share.cpus.set_units("CPU", cpus->second);
  }
  share.rest = resources;
  share.rest.subtract(share.cpus);
  return shares_.emplace(home, std::move(share)).second ? resources : ResourceSet();
}

ResourceSet JobShares::end(ProcessId home) {
  auto found = shares_.find(home);
  if (found == shares_.end()) return {};
  ResourceSet held = std::move(found->second.rest);
  if (!found->second.lent) held.add(found->second.cpus);
  shares_.erase(found);
  return held;
}

void JobShares::waits(ProcessId home, bool begins) {
  auto found = shares_.find(home);
  if (found != shares_.end()) found->second.waiting += begins ? 1 : -1;
}

JobShares::Change JobShares::settle(const std::function<bool(ProcessId home)>& has_work) {
  Change change;
  for (auto& [home, share] : shares_) {
    const bool lends = share.waiting > 0 || has_work(home);
    if (lends == share.lent) continue;
    share.lent = lends;
    change.any = true;
    (lends ? change.lent : change.taken_back).add(share.cpus);
  }
  return change;
}

ResourceSet JobShares::held() const {
  ResourceSet held;
  for (const auto& [home, share] : shares_) {
    held.add(share.rest);
    if (!share.lent) held.add(share.cpus);
  }
  return held;
}

}  // namespace fray::scheduler
