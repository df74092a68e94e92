#include "model/job_json.h"

#include <array>
#include <cmath>
#include <ctime>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray {

namespace {

using nlohmann::json;

constexpr std::array kStates{"pending", "running", "succeeded", "failed", "stopped"};
constexpr std::array kPhases{"building", "queued", "starting", "backing_off", "running", "stopping", "ended"};

// ---- Reading an order: one function a type.

Status take(Members& members, const JobField& field, std::string& value) { return members.text(field.name, &value); }

Status take(Members& members, const JobField& field, JsonObject& value) {
  const json given = members.take(field.name);
  if (given.is_null()) return Status::ok();
  if (!given.is_object()) return wrong_type(field.name, "an object", given);
  value = json_text(given);
  return Status::ok();
}

Status take(Members& members, const JobField& field, std::vector<std::string>& value) {
  value.clear();
  return members.text_list(field.name, &value);
}

Status take(Members& members, const JobField& field, Texts& value) { return members.texts(field.name, &value); }

Status take(Members& members, const JobField& field, ResourceSet& value) {
  std::map<std::string, double> amounts;
  FRAY_RETURN_IF_ERROR(members.amounts(field.name, &amounts));
  for (const auto& [name, amount] : amounts) FRAY_RETURN_IF_ERROR(value.set(name, amount));
  return Status::ok();
}

template <typename Number>
  requires std::is_arithmetic_v<Number>
Status take(Members& members, const JobField& field, Number& value) {
  auto number = static_cast<double>(value);
  FRAY_RETURN_IF_ERROR(members.number(field.name, &number));
  const bool whole = std::is_floating_point_v<Number> || number == std::floor(number);
  if (!whole || !(number >= field.least && number <= field.most)) {
    return wrong(fmt::format("{} is {:.15g}; it must be a {}number from {:.15g} to {:.15g}", field.name, number,
                             std::is_integral_v<Number> ? "whole " : "", field.least, field.most));
  }
  value = static_cast<Number>(number);
  return Status::ok();
}

// ---- The schema: one function a type.

json schema_of(const std::string&) { return {{"type", "string"}}; }
json schema_of(const JsonObject&) { return {{"type", "object"}}; }
json schema_of(const std::vector<std::string>&) { return {{"type", "array"}, {"items", {{"type", "string"}}}}; }
json schema_of(const Texts&) { return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}}; }
json schema_of(const ResourceSet&) { return {{"type", "object"}, {"additionalProperties", {{"type", "number"}}}}; }
template <typename Number>
  requires std::is_arithmetic_v<Number>
json schema_of(const Number&) {
  return {{"type", std::is_integral_v<Number> ? "integer" : "number"}};
}

// ---- What a job looks like in answers.

json shown(const ResourceSet& resources) {
  json amounts = json::object();
  for (const auto& [name, units] : resources.units()) amounts[name] = resources.amount(name);
  return amounts;
}
template <typename Value>
json shown(const Value& value) {
  return value;
}

json or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json replica_json(const ReplicaEnd& end) {
  const bool signalled = end.signal != 0;
  json row = {{"status", end.succeeded() ? "succeeded"
                         : end.asked     ? "stopped"
                                         : "failed"},
              {"exit_code", signalled ? json(nullptr) : json(end.exit_code)},
              {"signal", signalled ? json(end.signal) : json(nullptr)},
              {"peak_memory_bytes", end.peak_memory_bytes},
              {"error", nullptr}};
  if (end.succeeded()) return row;
  if (!end.text.empty()) {
    row["error"] = end.text;
  } else {
    row["error"] =
        signalled ? fmt::format("killed by signal {}", end.signal) : fmt::format("exited with code {}", end.exit_code);
  }
  return row;
}

json replicas_json(const JobInfo& job) {
  json rows = json::array();
  for (const ReplicaEnd& end : job.replicas) rows.push_back(replica_json(end));
  while (rows.size() < job.spec.replicas) rows.push_back({{"status", to_string(job.state)}, {"error", nullptr}});
  return rows;
}

// The limits that the spec sets; memory is one of the resources.
json limits_json(const JobSpec& spec) {
  json limits = json::object();
  if (spec.max_processes > 0) limits["processes"] = spec.max_processes;
  if (spec.max_files > 0) limits["files"] = spec.max_files;
  return limits;
}

}  // namespace

std::string_view to_string(JobState state) { return kStates.at(static_cast<std::size_t>(state)); }
std::string_view to_string(JobPhase phase) { return kPhases.at(static_cast<std::size_t>(phase)); }

Status take_job_spec(Members& members, JobSpec* spec, bool with_call) {
  Status taken;
  auto take_one = [&](const JobField& field, auto& value) {
    if (taken.is_ok()) taken = take(members, field, value);
  };
  JobSpec::visit(*spec, take_one);
  JobSpec::visit_secrets(*spec, [&](const JobField& field, auto& value) {
    if (with_call || std::string_view(field.name) != "call") take_one(field, value);
  });
  return taken;
}

json job_spec_schema() {
  const JobSpec spec;
  json properties = json::object();
  auto add = [&properties](const JobField& field, const auto& value) {
    json schema = schema_of(value);
    schema["description"] = field.meaning;
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(value)>>) {
      schema["minimum"] = field.least;
      schema["maximum"] = field.most;
      schema["default"] = value;
    }
    properties[field.name] = std::move(schema);
  };
  JobSpec::visit(spec, add);
  JobSpec::visit_secrets(spec, add);
  properties.erase("call");
  return {{"type", "object"}, {"required", {"command"}}, {"properties", std::move(properties)}};
}

json time_json(std::int64_t unix_ns) {
  if (unix_ns == 0) return nullptr;
  const std::time_t seconds = unix_ns / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, unix_ns % 1'000'000'000 / 1000);
}

json job_json(const JobInfo& job) {
  json document = {{"schema", "fray/v1"}};
  JobSpec::visit(job.spec,
                 [&document](const JobField& field, const auto& value) { document[field.name] = shown(value); });
  for (const char* elsewhere : {"runtime_env", "max_processes", "max_files"}) document.erase(elsewhere);
  if (job.spec.deadline_seconds == 0) document["deadline_seconds"] = nullptr;
  document["limits"] = limits_json(job.spec);
  document["status"] = to_string(job.state);
  document["phase"] = to_string(job.phase);
  document["pending_reason"] = or_null(job.pending_reason);
  document["message"] = or_null(job.message);
  document["exit_code"] = job.exit_code < 0 ? json(nullptr) : json(job.exit_code);
  document["replicas"] = replicas_json(job);
  document["attempt"] = job.attempt;
  document["failures"] = job.failures;
  document["preemptions"] = job.preemptions;
  document["parent"] = or_null(job.parent);
  document["supervisor_pid"] = job.supervisor_pid == 0 ? json(nullptr) : json(job.supervisor_pid);
  document["submitted_at"] = time_json(job.submitted_unix_ns);
  document["started_at"] = time_json(job.started_unix_ns);
  document["ended_at"] = time_json(job.ended_unix_ns);
  if (!job.further.empty()) document.update(parse_json(job.further));
  return document;
}

json job_list_json(const std::vector<JobInfo>& jobs) {
  json rows = json::array();
  for (const JobInfo& job : jobs) rows.push_back(job_json(job));
  return rows;
}

}  // namespace fray
