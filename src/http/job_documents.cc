#include "http/job_documents.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "http/members.h"
#include "model/job_spec.h"
#include "model/json_text.h"

namespace fray::http {

namespace {

using nlohmann::json;

constexpr const char* kRayKey = "ray";  // of the metadata: what Ray's routes need to know again
constexpr double kMostReplicas = 1024;

Result<std::vector<std::string>> command_of(const json& value) {
  if (!value.is_array() || value.empty())
    return wrong("command must be a list of texts, the program first; no shell reads it");
  std::vector<std::string> words;
  for (const json& word : value) {
    if (!word.is_string()) return wrong_type("each word of command", "a text", word);
    words.push_back(word.get<std::string>());
  }
  return words;
}

json typed(const char* type, const char* description) { return {{"type", type}, {"description", description}}; }

json map_of(const char* type, const char* description) {
  return {{"type", "object"}, {"additionalProperties", {{"type", type}}}, {"description", description}};
}

std::string text_of(const json& object, const char* key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Of a time such as 2026-11-21T10:00:00.250000Z; null for none.
json milliseconds_of(const json& job, const char* key) {
  const std::string text = text_of(job, key);
  std::tm parts{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return nullptr;
  const double fraction = *rest == '.' ? std::strtod(rest, nullptr) : 0;
  return static_cast<std::int64_t>(::timegm(&parts)) * 1000 + static_cast<std::int64_t>(fraction * 1000);
}

const char* ray_status(const std::string& status) {
  constexpr std::array<std::pair<std::string_view, const char*>, 5> kNames = {{{"pending", "PENDING"},
                                                                               {"running", "RUNNING"},
                                                                               {"succeeded", "SUCCEEDED"},
                                                                               {"stopped", "STOPPED"},
                                                                               {"failed", "FAILED"}}};
  for (const auto& [own, name] : kNames) {
    if (own == status) return name;
  }
  return "PENDING";
}

std::string message_of(const json& job, const std::string& status) {
  if (status == "pending") {
    const std::string reason = text_of(job, "pending_reason");
    return "Job has not started yet" + (reason.empty() ? "." : ": " + reason);
  }
  if (status == "running") return "Job is currently running.";
  if (status == "succeeded") return "Job finished successfully.";
  const std::string why = text_of(job, "message");
  if (!why.empty()) return why;
  return status == "stopped" ? "Job was intentionally stopped." : "Job failed.";
}

std::string joined(const json& command) {
  std::string line;
  if (command.is_array()) {
    for (const json& word : command) {
      if (word.is_string()) line += (line.empty() ? "" : " ") + word.get<std::string>();
    }
  }
  return line;
}

Status set_times(Members& members, JobOrder* order) {
  double priority = 0;
  FRAY_RETURN_IF_ERROR(members.number("priority", &priority));
  if (priority != std::floor(priority) || std::abs(priority) > kMostPriority) {
    return wrong(fmt::format("priority is {}; it must be a whole number from {} to {}", priority, -kMostPriority,
                             kMostPriority));
  }
  order->priority = static_cast<std::int32_t>(priority);
  for (const auto& [key, place] :
       {std::pair{"deadline_seconds", &order->deadline_seconds}, {"grace_seconds", &order->grace_seconds}}) {
    double seconds = 0;
    const bool given = members.has(key);
    FRAY_RETURN_IF_ERROR(members.number(key, &seconds));
    if (seconds < 0) return wrong(fmt::format("{} is {}; it must be a number of at least 0", key, seconds));
    if (given) *place = seconds;
  }
  return Status::ok();
}

}  // namespace

json order_schema() {
  json command = {
      {"type", "array"}, {"items", {{"type", "string"}}}, {"description", "program and arguments; no shell"}};
  return {{"type", "object"},
          {"required", {"command"}},
          {"properties",
           {{"command", command},
            {"id", typed("string", "given by the submitter, so that a repeated submission is refused")},
            {"name", typed("string", "for people")},
            {"folder", typed("string", "where it runs; the user's home if not given")},
            {"environment", map_of("string", "variables beside the node's own")},
            {"resources", map_of("number", "of each replica, such as {\"CPU\": 1}")},
            {"replicas", typed("integer", "equal processes that start and end together")},
            {"max_processes", typed("integer", "processes and threads of the job, at most")},
            {"max_files", typed("integer", "open files of each process, at most")},
            {"priority", typed("integer", "jobs with a higher one start first; 0 if not given")},
            {"deadline_seconds", typed("number", "most time from its first start on; none if not given")},
            {"grace_seconds", typed("number", "time between the first signal of a stop and SIGKILL; 5 if not given")},
            {"runtime_env", environment_schema()},
            {"metadata", map_of("string", "the submitter's own")}}}};
}

Result<JobOrder> parse_order(std::string_view body, const OwnPython& python) {
  FRAY_ASSIGN_OR_RETURN(Members members, Members::parse(body));
  JobOrder order;
  FRAY_ASSIGN_OR_RETURN(order.command, command_of(members.take("command")));
  FRAY_RETURN_IF_ERROR(members.text("id", &order.id));
  FRAY_RETURN_IF_ERROR(members.text("name", &order.name));
  FRAY_RETURN_IF_ERROR(members.text("folder", &order.folder));
  FRAY_RETURN_IF_ERROR(members.texts("environment", &order.environment));
  FRAY_RETURN_IF_ERROR(members.amounts("resources", &order.resources));
  double replicas = 1;
  FRAY_RETURN_IF_ERROR(members.number("replicas", &replicas));
  if (replicas < 1 || replicas > kMostReplicas || replicas != std::floor(replicas)) {
    return wrong(fmt::format("replicas is {}; it must be a whole number from 1 to {}", replicas, kMostReplicas));
  }
  order.replicas = static_cast<std::uint32_t>(replicas);
  FRAY_RETURN_IF_ERROR(members.count("max_processes", &order.max_processes));
  FRAY_RETURN_IF_ERROR(members.count("max_files", &order.max_files));
  FRAY_RETURN_IF_ERROR(set_times(members, &order));
  FRAY_RETURN_IF_ERROR(set_environment(members.take("runtime_env"), python, &order));
  std::map<std::string, std::string> metadata;
  FRAY_RETURN_IF_ERROR(members.texts("metadata", &metadata));
  if (!metadata.empty()) order.metadata = json_text(metadata);
  FRAY_RETURN_IF_ERROR(members.end());
  if (order.name.empty()) order.name = "job";
  return order;
}

json ray_order_schema() {
  return {{"type", "object"},
          {"required", {"entrypoint"}},
          {"properties",
           {{"entrypoint", typed("string", "a line for the shell")},
            {"submission_id", typed("string", "must be new")},
            {"job_id", typed("string", "an older name of submission_id")},
            {"runtime_env", typed("object", "env_vars, working_dir, pip, uv, conda, image_uri")},
            {"metadata", map_of("string", "the submitter's own")},
            {"entrypoint_num_cpus", typed("number", "CPUs of the entrypoint itself")},
            {"entrypoint_num_gpus", typed("number", "GPUs of the entrypoint itself")},
            {"entrypoint_memory", typed("number", "bytes")},
            {"entrypoint_resources", map_of("number", "further resources")},
            {"entrypoint_label_selector", map_of("string", "not known here; must be empty")}}}};
}

Result<JobOrder> parse_ray_order(std::string_view body, const OwnPython& python, const PackageStore& packages) {
  FRAY_ASSIGN_OR_RETURN(Members members, Members::parse(body));
  JobOrder order;
  std::string entrypoint, older_id;
  FRAY_RETURN_IF_ERROR(members.text("entrypoint", &entrypoint));
  if (entrypoint.empty()) return wrong("entrypoint must be a line for the shell");
  FRAY_RETURN_IF_ERROR(members.text("submission_id", &order.id));
  FRAY_RETURN_IF_ERROR(members.text("job_id", &older_id));
  if (order.id.empty()) order.id = older_id;
  const json env = members.take("runtime_env");
  FRAY_RETURN_IF_ERROR(set_ray_environment(env, python, packages, &order));
  std::map<std::string, std::string> metadata, labels;
  FRAY_RETURN_IF_ERROR(members.texts("metadata", &metadata));
  for (const auto& [key, resource] :
       {std::pair{"entrypoint_num_cpus", "CPU"}, {"entrypoint_num_gpus", "GPU"}, {"entrypoint_memory", "memory"}}) {
    double amount = 0;
    FRAY_RETURN_IF_ERROR(members.number(key, &amount));
    if (amount != 0) order.resources[resource] = amount;
  }
  FRAY_RETURN_IF_ERROR(members.amounts("entrypoint_resources", &order.resources));
  FRAY_RETURN_IF_ERROR(members.texts("entrypoint_label_selector", &labels));
  if (!labels.empty()) return wrong("entrypoint_label_selector names nodes of a cluster; this is one node");
  FRAY_RETURN_IF_ERROR(members.end());
  // As Ray has it: one stream, in the order in which it was written.
  order.command = {"/bin/sh", "-c", "exec 2>&1\n" + entrypoint};
  order.name = metadata.contains("job_name") && !metadata["job_name"].empty() ? metadata["job_name"] : "ray-job";
  json kept = metadata;
  json shown_env = env.is_object() ? env : json::object();
  // Names alone: values of variables are never recorded.
  if (shown_env.contains("env_vars")) {
    for (auto& value : shown_env["env_vars"]) value = "<redacted>";
  }
  kept[kRayKey] = json_text({{"entrypoint", entrypoint}, {"runtime_env", shown_env}});
  order.metadata = json_text(kept);
  return order;
}

json ray_details(const json& job) {
  json metadata = job.value("metadata", json::object());
  if (!metadata.is_object()) metadata = json::object();
  const json ray = parse_json(text_of(metadata, kRayKey));
  metadata.erase(kRayKey);
  const std::string status = text_of(job, "status");
  const bool failed = status == "failed";
  return {{"type", "SUBMISSION"},
          {"job_id", nullptr},
          {"submission_id", text_of(job, "id")},
          {"driver_info", nullptr},
          {"status", ray_status(status)},
          {"entrypoint", ray.is_object() ? text_of(ray, "entrypoint") : joined(job.value("command", json()))},
          {"message", message_of(job, status)},
          {"error_type", failed ? json("JOB_ENTRYPOINT_COMMAND_ERROR") : json(nullptr)},
          {"start_time", milliseconds_of(job, "submitted_at")},
          {"end_time", milliseconds_of(job, "ended_at")},
          {"metadata", metadata},
          {"runtime_env", ray.is_object() ? ray.value("runtime_env", json::object()) : json::object()},
          {"driver_agent_http_address", nullptr},
          {"driver_node_id", nullptr},
          {"driver_exit_code", job.value("exit_code", json())}};
}

}  // namespace fray::http
