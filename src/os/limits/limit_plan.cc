#include "os/limits/limit_plan.h"

#include <algorithm>

#include <sys/resource.h>

namespace fray::os {

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

// Returns the group for all settings of one place, which is added where it is missing.
LimitPlan::Group& group_at(LimitPlan& plan, const GroupPlace& place, const std::string& name) {
  const std::string folder = place.folder + "/" + name;
  auto known =
      std::find_if(plan.groups.begin(), plan.groups.end(), [&](const auto& each) { return each.folder == folder; });
  if (known != plan.groups.end()) return *known;
  return plan.groups.emplace_back(LimitPlan::Group{folder, place.version_2, false, {}});
}

const GroupPlace* place_for(const std::vector<GroupPlace>& places, bool GroupPlace::*ability) {
  auto found = std::find_if(places.begin(), places.end(), [=](const GroupPlace& place) { return place.*ability; });
  return found == places.end() ? nullptr : &*found;
}

void add(Settings& settings, const Settings& more) { settings.insert(settings.end(), more.begin(), more.end()); }

}  // namespace

std::vector<std::string> LimitPlan::joins() const {
  std::vector<std::string> files;
  for (const Group& group : groups) files.push_back(group.folder + "/cgroup.procs");
  return files;
}

bool LimitPlan::limits_memory() const {
  return std::any_of(groups.begin(), groups.end(), [](const Group& group) { return group.limits_memory; });
}

LimitPlan plan_limits(const LimitRequest& request, const std::vector<GroupPlace>& places, const std::string& name) {
  LimitPlan plan;
  if (request.memory_bytes > 0) {
    const std::string bytes = std::to_string(request.memory_bytes);
    if (const GroupPlace* place = place_for(places, &GroupPlace::limits_memory); place == nullptr) {
      plan.rlimits.emplace_back(RLIMIT_DATA, request.memory_bytes);
    } else {
      LimitPlan::Group& group = group_at(plan, *place, name);
      group.limits_memory = true;
      // With swap, a process over the limit would only die later.
      add(group.settings, place->version_2
                              ? Settings{{"memory.max", bytes}, {"memory.swap.max", "0"}}
                              : Settings{{"memory.limit_in_bytes", bytes}, {"memory.memsw.limit_in_bytes", bytes}});
    }
  }
  if (request.processes > 0) {
    if (const GroupPlace* place = place_for(places, &GroupPlace::limits_processes); place == nullptr) {
      if (!request.processes_by_group_only) plan.rlimits.emplace_back(RLIMIT_NPROC, request.processes);
    } else {
      Settings& settings = group_at(plan, *place, name).settings;
      settings.insert(settings.begin(), {"pids.max", std::to_string(request.processes)});
    }
  }
  if (request.files > 0) plan.rlimits.emplace_back(RLIMIT_NOFILE, request.files);
  return plan;
}

}  // namespace fray::os
