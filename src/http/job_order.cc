#include "http/job_order.h"

#include <cstdlib>
#include <utility>

#include "os/spawn.h"

namespace fray::http {

namespace {

// The node's own variables, as a program has them that is started where the node was.
std::vector<std::pair<std::string, std::string>> variables_with(const std::map<std::string, std::string>& further) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (auto& variable : os::own_environment()) {
    if (!further.contains(variable.first)) variables.push_back(std::move(variable));
  }
  if (std::getenv("PYTHONUNBUFFERED") == nullptr && !further.contains("PYTHONUNBUFFERED")) {
    variables.emplace_back("PYTHONUNBUFFERED", "1");
  }
  variables.insert(variables.end(), further.begin(), further.end());
  return variables;
}

}  // namespace

Result<JobSpec> spec_of(JobOrder order) {
  JobSpec spec;
  spec.id = std::move(order.id);
  spec.name = std::move(order.name);
  spec.command = std::move(order.command);
  spec.folder = std::move(order.folder);
  const char* home = std::getenv("HOME");
  if (spec.folder.empty()) spec.folder = home != nullptr && *home == '/' ? home : "/";
  spec.environment = variables_with(order.environment);
  for (const auto& [name, amount] : order.resources) FRAY_RETURN_IF_ERROR(spec.resources.set(name, amount));
  spec.replicas = order.replicas;
  spec.max_processes = order.max_processes;
  spec.max_files = order.max_files;
  spec.priority = order.priority;
  spec.deadline_seconds = order.deadline_seconds.value_or(spec.deadline_seconds);
  spec.grace_seconds = order.grace_seconds.value_or(spec.grace_seconds);
  spec.runtime_env = std::move(order.runtime_env);
  spec.metadata = std::move(order.metadata);
  FRAY_RETURN_IF_ERROR(spec.check());
  return spec;
}

}  // namespace fray::http
