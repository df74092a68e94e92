#include "job/job_record.h"

#include <array>

#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray::job {

namespace {

using nlohmann::json;

constexpr std::array kStates{"pending", "running", "succeeded", "failed", "stopped"};
constexpr std::array kPhases{"building", "queued", "starting", "backing_off", "running", "stopping", "ended"};

json resources_json(const ResourceSet& resources) {
  json amounts = json::object();
  for (const auto& [name, units] : resources.units()) amounts[name] = units;
  return amounts;
}

ResourceSet resources_of(const json& amounts) {
  ResourceSet resources;
  for (const auto& [name, units] : amounts.items()) resources.set_units(name, units.get<std::int64_t>());
  return resources;
}

json spec_json(const JobSpec& spec) {
  return {{"id", spec.id},
          {"name", spec.name},
          {"command", spec.command},
          {"folder", spec.folder},
          {"replicas", spec.replicas},
          {"resource_units", resources_json(spec.resources)},
          {"max_failures", spec.max_failures},
          {"max_preemptions", spec.max_preemptions},
          {"priority", spec.priority},
          {"deadline_seconds", spec.deadline_seconds},
          {"grace_seconds", spec.grace_seconds},
          {"max_processes", spec.max_processes},
          {"max_files", spec.max_files},
          {"runtime_env", spec.runtime_env},
          {"metadata", spec.metadata}};
}

JobSpec spec_of(const json& kept) {
  JobSpec spec;
  kept.at("id").get_to(spec.id);
  kept.at("name").get_to(spec.name);
  kept.at("command").get_to(spec.command);
  kept.at("folder").get_to(spec.folder);
  kept.at("replicas").get_to(spec.replicas);
  spec.resources = resources_of(kept.at("resource_units"));
  kept.at("max_failures").get_to(spec.max_failures);
  kept.at("max_preemptions").get_to(spec.max_preemptions);
  kept.at("priority").get_to(spec.priority);
  kept.at("deadline_seconds").get_to(spec.deadline_seconds);
  kept.at("grace_seconds").get_to(spec.grace_seconds);
  spec.max_processes = kept.value("max_processes", 0u);  // not in records of earlier releases
  spec.max_files = kept.value("max_files", 0u);
  kept.at("runtime_env").get_to(spec.runtime_env);
  kept.at("metadata").get_to(spec.metadata);
  return spec;
}

json replica_json(const ReplicaEnd& end) {
  return {{"exit_code", end.exit_code},
          {"signal", end.signal},
          {"asked", end.asked},
          {"peak_memory_bytes", end.peak_memory_bytes},
          {"text", end.text}};
}

ReplicaEnd replica_of(const json& kept) {
  return {kept.at("exit_code").get<std::int32_t>(), kept.at("signal").get<std::int32_t>(), kept.at("asked").get<bool>(),
          kept.at("peak_memory_bytes").get<std::uint64_t>(), kept.at("text").get<std::string>()};
}

JobState state_of(const std::string& word) {
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    if (word == kStates[i]) return static_cast<JobState>(i);
  }
  throw json::other_error::create(501, "unknown state", nullptr);
}

JobRecord record_of(const json& kept) {
  JobRecord record;
  record.spec = spec_of(kept.at("spec"));
  kept.at("sequence").get_to(record.sequence);
  kept.at("parent").get_to(record.parent);
  kept.at("parent_attempt").get_to(record.parent_attempt);
  record.state = state_of(kept.at("state").get<std::string>());
  kept.at("attempt").get_to(record.attempt);
  kept.at("attempt_open").get_to(record.attempt_open);
  kept.at("failures").get_to(record.failures);
  kept.at("preemptions").get_to(record.preemptions);
  kept.at("stop_asked").get_to(record.stop_asked);
  kept.at("too_late").get_to(record.too_late);
  kept.at("message").get_to(record.message);
  kept.at("exit_code").get_to(record.exit_code);
  for (const json& replica : kept.at("replicas")) record.replicas.push_back(replica_of(replica));
  kept.at("accepted_unix_ns").get_to(record.accepted_unix_ns);
  kept.at("started_unix_ns").get_to(record.started_unix_ns);
  kept.at("ended_unix_ns").get_to(record.ended_unix_ns);
  return record;
}

}  // namespace

std::string_view to_string(JobState state) { return kStates.at(static_cast<std::size_t>(state)); }
std::string_view to_string(JobPhase phase) { return kPhases.at(static_cast<std::size_t>(phase)); }

std::string JobRecord::json() const {
  nlohmann::json ends = nlohmann::json::array();
  for (const ReplicaEnd& end : replicas) ends.push_back(replica_json(end));
  const nlohmann::json whole = {{"spec", spec_json(spec)},
                                {"sequence", sequence},
                                {"parent", parent},
                                {"parent_attempt", parent_attempt},
                                {"state", to_string(state)},
                                {"attempt", attempt},
                                {"attempt_open", attempt_open},
                                {"failures", failures},
                                {"preemptions", preemptions},
                                {"stop_asked", stop_asked},
                                {"too_late", too_late},
                                {"message", message},
                                {"exit_code", exit_code},
                                {"replicas", std::move(ends)},
                                {"accepted_unix_ns", accepted_unix_ns},
                                {"started_unix_ns", started_unix_ns},
                                {"ended_unix_ns", ended_unix_ns}};
  // Commands and folders may hold any bytes.
  return json_text(whole);
}

Result<JobRecord> JobRecord::parse(std::string_view text) {
  const nlohmann::json kept = parse_json(text);
  try {
    if (kept.is_object()) return record_of(kept);
  } catch (const nlohmann::json::exception&) {
  }
  return Status(StatusCode::kCorruption, "this is no record of a job");
}

}  // namespace fray::job
