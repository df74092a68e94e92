#include "iris/own_task.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "iris/names.h"
#include "model/json_text.h"

namespace fray::iris {

namespace {

using nlohmann::json;

std::string own_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> texts_in(const json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const json& each : list) {
    if (each.is_string()) texts.push_back(each.get<std::string>());
  }
  return texts;
}

std::vector<std::string> own_list(const char* name) { return texts_in(parse_json(own_variable(name))); }

std::map<std::string, std::string> own_env_vars() {
  std::map<std::string, std::string> variables;
  const json document = parse_json(own_variable("IRIS_JOB_ENV"));
  if (!document.is_object()) return variables;
  for (const auto& [name, value] : document.items()) {
    const bool is_of_the_job = name == kSubmissionVariable || name == kMetadataVariable;
    if (value.is_string() && !is_of_the_job) variables[name] = value.get<std::string>();
  }
  return variables;
}

std::string text_in(const json& attribute) {
  if (!attribute.is_object() || !attribute.contains("string_value")) return "";
  const json& value = attribute["string_value"];
  return value.is_string() ? value.get<std::string>() : "";
}

// The constraints of this task's job that its children inherit. They name places, each with one value or several.
std::vector<Constraint> own_places() {
  std::vector<Constraint> constraints;
  const json list = parse_json(own_variable("IRIS_JOB_CONSTRAINTS"));
  if (!list.is_array()) return constraints;
  for (const json& each : list) {
    if (!each.is_object() || !each.contains("key") || !each["key"].is_string()) continue;
    std::vector<std::string> values;
    if (each.contains("value")) values.push_back(text_in(each["value"]));
    if (each.contains("values") && each["values"].is_array()) {
      for (const json& value : each["values"]) values.push_back(text_in(value));
    }
    std::erase(values, "");
    if (!values.empty()) constraints.push_back(any_of(each["key"].get<std::string>(), std::move(values)));
  }
  return constraints;
}

bool has_key(const std::vector<Constraint>& constraints, std::string_view key) {
  return std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& each) { return each.key == key; });
}

bool is_same_folder(const std::string& one, const std::string& other) {
  std::error_code error;
  return !one.empty() && !other.empty() && std::filesystem::equivalent(one, other, error);
}

}  // namespace

std::optional<OwnTask> OwnTask::find() {
  OwnTask task;
  task.job = parent_in(own_variable("IRIS_TASK_ID"));
  task.controller = own_variable("IRIS_CONTROLLER_URL");
  if (task.controller.empty()) task.controller = own_variable("IRIS_CONTROLLER_ADDRESS");
  if (task.controller.empty() || !resolve_id("", task.job).is_ok() || !task.job.starts_with('/')) return std::nullopt;
  task.folder = own_variable("IRIS_WORKDIR");
  task.bundle_id = own_variable("IRIS_BUNDLE_ID");
  task.region = own_variable("IRIS_WORKER_REGION");
  task.env_vars = own_env_vars();
  task.extras = own_list("IRIS_JOB_EXTRAS");
  task.pip_packages = own_list("IRIS_JOB_PIP_PACKAGES");
  task.constraints = own_places();
  return task;
}

void OwnTask::adopt(JobRequest* request) const {
  request->parent = job;
  for (const auto& [name, value] : env_vars) request->env_vars.emplace(name, value);
  if (request->extras.empty()) request->extras = extras;
  if (request->pip_packages.empty()) request->pip_packages = pip_packages;
  if (!bundle_id.empty() && is_same_folder(request->workspace, folder)) request->workspace.clear();
  if (request->workspace.empty() && request->bundle_id.empty()) request->bundle_id = bundle_id;
  const std::vector<Constraint> said = request->constraints;
  for (const Constraint& each : constraints) {
    if (!has_key(said, each.key)) request->constraints.push_back(each);
  }
  const bool is_placed = has_key(request->constraints, "region") || has_key(request->constraints, "zone");
  if (!region.empty() && !is_placed) request->constraints.push_back(any_of("region", {region}));
}

std::string usual_user() {
  const std::optional<OwnTask> task = OwnTask::find();
  return task ? std::string(user_in(task->job)) : current_user();
}

}  // namespace fray::iris
