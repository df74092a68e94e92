#include "http/job_documents.h"

#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "model/job_json.h"
#include "model/json_text.h"
#include "model/members.h"
#include "os/process/spawn.h"

namespace fray::http {

namespace {

using nlohmann::json;

constexpr const char* kRayKey = "ray";  // key of the metadata with what Ray's routes need later

json typed(const char* type, const char* description) { return {{"type", type}, {"description", description}}; }

json map_of(const char* type, const char* description) {
  return {{"type", "object"}, {"additionalProperties", {{"type", type}}}, {"description", description}};
}

// Fills in the defaults of the node.
Result<JobSpec> whole(JobSpec spec) {
  if (spec.name.empty()) spec.name = job_name_of(spec.command);
  const char* home = std::getenv("HOME");
  if (spec.folder.empty()) spec.folder = home != nullptr && *home == '/' ? home : "/";
  for (auto& [name, value] : os::own_environment()) spec.environment.emplace(std::move(name), std::move(value));
  FRAY_RETURN_IF_ERROR(spec.check());
  return spec;
}

const char* ray_status(JobState state) {
  constexpr std::array kNames{"PENDING", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"};
  return kNames.at(static_cast<std::size_t>(state));
}

std::string ray_message(const JobInfo& job) {
  switch (job.state) {
    case JobState::kPending:
      return "Job has not started yet" + (job.pending_reason.empty() ? "." : ": " + job.pending_reason);
    case JobState::kRunning:
      return "Job is currently running.";
    case JobState::kSucceeded:
      return "Job finished successfully.";
    case JobState::kStopped:
      return job.message.empty() ? "Job was intentionally stopped." : job.message;
    case JobState::kFailed:
      break;
  }
  return job.message.empty() ? "Job failed." : job.message;
}

json milliseconds(std::int64_t unix_ns) { return unix_ns == 0 ? json(nullptr) : json(unix_ns / 1'000'000); }

}  // namespace

json order_schema() {
  json schema = job_spec_schema();
  schema["properties"]["runtime_env"] = environment_schema();
  return schema;
}

Result<JobSpec> parse_order(std::string_view body, const OwnPython& python) {
  FRAY_ASSIGN_OR_RETURN(Members members, Members::parse(body));
  JobSpec spec;
  FRAY_RETURN_IF_ERROR(take_job_spec(members, &spec));
  FRAY_RETURN_IF_ERROR(members.end());
  if (spec.command.empty()) return wrong("command must be a list of texts, the program first; no shell reads it");
  FRAY_RETURN_IF_ERROR(describe_environment(python, &spec));
  return whole(std::move(spec));
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

Result<JobSpec> parse_ray_order(std::string_view body, const OwnPython& python, const PackageStore& packages) {
  FRAY_ASSIGN_OR_RETURN(Members members, Members::parse(body));
  JobSpec spec;
  std::string entrypoint, older_id;
  FRAY_RETURN_IF_ERROR(members.text("entrypoint", &entrypoint));
  if (entrypoint.empty()) return wrong("entrypoint must be a line for the shell");
  FRAY_RETURN_IF_ERROR(members.text("submission_id", &spec.id));
  FRAY_RETURN_IF_ERROR(members.text("job_id", &older_id));
  if (spec.id.empty()) spec.id = older_id;
  const json env = members.take("runtime_env");
  FRAY_RETURN_IF_ERROR(describe_ray_environment(python, packages, env, &spec));
  FRAY_RETURN_IF_ERROR(members.texts("metadata", &spec.metadata));
  std::map<std::string, double> amounts;
  for (const auto& [key, resource] :
       {std::pair{"entrypoint_num_cpus", "CPU"}, {"entrypoint_num_gpus", "GPU"}, {"entrypoint_memory", "memory"}}) {
    double amount = 0;
    FRAY_RETURN_IF_ERROR(members.number(key, &amount));
    if (amount != 0) amounts[resource] = amount;
  }
  FRAY_RETURN_IF_ERROR(members.amounts("entrypoint_resources", &amounts));
  for (const auto& [name, amount] : amounts) FRAY_RETURN_IF_ERROR(spec.resources.set(name, amount));
  Texts labels;
  FRAY_RETURN_IF_ERROR(members.texts("entrypoint_label_selector", &labels));
  if (!labels.empty()) return wrong("entrypoint_label_selector names nodes of a cluster; this is one node");
  FRAY_RETURN_IF_ERROR(members.end());
  // One stream in the order of writing, as Ray does it.
  spec.command = {"/bin/sh", "-c", "exec 2>&1\n" + entrypoint};
  const auto name = spec.metadata.find("job_name");
  spec.name = name != spec.metadata.end() && !name->second.empty() ? name->second : "ray-job";
  json shown_env = env.is_object() ? env : json::object();
  // Only the names: values of variables are never recorded.
  if (shown_env.contains("env_vars")) {
    for (auto& value : shown_env["env_vars"]) value = "<redacted>";
  }
  spec.metadata[kRayKey] = json_text({{"entrypoint", entrypoint}, {"runtime_env", shown_env}});
  return whole(std::move(spec));
}

json ray_details(const JobInfo& job) {
  Texts metadata = job.spec.metadata;
  const auto kept = metadata.extract(kRayKey);
  const json ray = kept ? parse_json(kept.mapped()) : json();
  const bool submitted_here = ray.is_object() && ray.contains("entrypoint") && ray["entrypoint"].is_string();
  return {
      {"type", "SUBMISSION"},
      {"job_id", nullptr},
      {"submission_id", job.id()},
      {"driver_info", nullptr},
      {"status", ray_status(job.state)},
      {"entrypoint", submitted_here ? ray["entrypoint"] : json(fmt::format("{}", fmt::join(job.spec.command, " ")))},
      {"message", ray_message(job)},
      {"error_type", job.state == JobState::kFailed ? json("JOB_ENTRYPOINT_COMMAND_ERROR") : json(nullptr)},
      {"start_time", milliseconds(job.submitted_unix_ns)},
      {"end_time", milliseconds(job.ended_unix_ns)},
      {"metadata", metadata},
      {"runtime_env", submitted_here ? ray.value("runtime_env", json::object()) : json::object()},
      {"driver_agent_http_address", nullptr},
      {"driver_node_id", nullptr},
      {"driver_exit_code", job.exit_code < 0 ? json(nullptr) : json(job.exit_code)}};
}

}  // namespace fray::http
