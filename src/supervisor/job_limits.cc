#include "supervisor/job_limits.h"

#include <utility>

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "os/files/whole_file.h"

namespace fray::supervisor {

namespace {

using nlohmann::json;

constexpr const char* kGroupsName = "/groups.json";
constexpr int kRemovals = 100;  // tries: a killed process leaves its group only a moment later
constexpr timespec kRemovalPause{0, 5'000'000};
// A process that has reached its limit of data has seldom touched all of these pages, so its peak is below the limit.
constexpr double kNearTheLimit = 0.75;

// Returns a name that is unique among the attempts of all nodes of this machine.
std::string group_name(const Order& order) {
  return fmt::format("fray-{}-{}.{}", order.job, order.attempt, ::getpid());
}

void write_groups(const os::LimitPlan& plan, const std::string& folder) {
  json rows = json::array();
  for (const os::LimitPlan::Group& group : plan.groups) {
    rows.push_back({{"folder", group.folder}, {"version_2", group.version_2}});
  }
  // An error is harmless: the file is read only if this supervisor is killed.
  (void)os::write_file(folder + kGroupsName, json_text(rows), os::Durability::kNone).is_ok();
}

os::LimitPlan read_groups(const std::string& folder) {
  os::LimitPlan plan;
  auto text = os::read_file(folder + kGroupsName);
  if (!text.is_ok()) return plan;
  const json rows = parse_json(*text);
  try {
    for (const json& row : rows) {
      plan.groups.push_back({row.at("folder").get<std::string>(), row.at("version_2").get<bool>(), false, {}});
    }
  } catch (const json::exception&) {
    plan.groups.clear();
  }
  return plan;
}

void remove(const os::LimitGroups& groups) {
  for (int left = kRemovals; left > 0 && !groups.remove(); --left) {
    groups.kill();
    ::nanosleep(&kRemovalPause, nullptr);
  }
}

}  // namespace

JobLimits JobLimits::set_up(const Order& order, const std::string& folder) {
  const os::LimitPlan none;
  if (order.limits.empty()) return {none, os::LimitGroups::of(none), 0, ""};
  const std::string name = group_name(order);
  os::LimitPlan plan = os::plan_limits(order.limits, os::find_group_places(), name);
  if (!plan.groups.empty()) write_groups(plan, folder);
  auto groups = os::LimitGroups::make(plan);
  if (groups.is_ok()) return {plan, *groups, order.limits.memory_bytes, ""};
  const std::string why = groups.status().message() + "; each process is limited by itself instead";
  os::LimitPlan alone = os::plan_limits(order.limits, {}, name);
  return {alone, os::LimitGroups::of(alone), order.limits.memory_bytes, why};
}

void JobLimits::clear(const std::string& folder) {
  const os::LimitGroups left = os::LimitGroups::of(read_groups(folder));
  left.kill();
  remove(left);
}

std::string JobLimits::verdict(const ReplicaReport& replica) const {
  if (memory_bytes_ == 0 || replica.asked || (replica.exit_code == 0 && replica.signal == 0)) return {};
  if (plan_.limits_memory()) return groups_.memory().verdict();
  // The kernel refuses further memory but kills no process, so only a high peak suggests that memory was the cause.
  if (static_cast<double>(replica.peak_memory_bytes) < kNearTheLimit * static_cast<double>(memory_bytes_)) return {};
  return "near its limit of memory: " + os::used_of(replica.peak_memory_bytes, memory_bytes_);
}

void JobLimits::end(const std::string& folder) const {
  if (plan_.groups.empty()) return;
  remove(groups_);
  ::unlink((folder + kGroupsName).c_str());
}

}  // namespace fray::supervisor
