#include "job/job_record.h"

#include <type_traits>

#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray::job {

namespace {

using nlohmann::json;

json units_json(const ResourceSet& resources) {
  json amounts = json::object();
  for (const auto& [name, units] : resources.units()) amounts[name] = units;
  return amounts;
}

ResourceSet resources_of(const json& amounts) {
  ResourceSet resources;
  for (const auto& [name, units] : amounts.items()) resources.set_units(name, units.get<std::int64_t>());
  return resources;
}

// Earlier releases have kept a text here, with a JSON object in it.
Texts texts_of(const json& kept) {
  const json given = kept.is_string() ? parse_json(kept.get<std::string>()) : kept;
  Texts texts;
  if (!given.is_object()) return texts;
  for (const auto& [name, text] : given.items()) {
    texts[name] = text.is_string() ? text.get<std::string>() : json_text(text);
  }
  return texts;
}

// The fields under their names, but resources, which are kept in exact units.
json spec_json(const JobSpec& spec) {
  json kept = json::object();
  JobSpec::visit(spec, [&kept](const JobField& field, const auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, ResourceSet>) {
      kept["resource_units"] = units_json(value);
    } else {
      kept[field.name] = value;
    }
  });
  return kept;
}

// Fields that are newer than the record stay as a JobSpec has them by itself.
JobSpec spec_of(const json& kept) {
  JobSpec spec;
  spec.resources = resources_of(kept.at("resource_units"));
  JobSpec::visit(spec, [&kept](const JobField& field, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    auto found = kept.find(field.name);
    if (found == kept.end()) return;
    if constexpr (std::is_same_v<Value, JsonObject>) {
      value = found->get<std::string>();
    } else if constexpr (std::is_same_v<Value, Texts>) {
      value = texts_of(*found);
    } else if constexpr (!std::is_same_v<Value, ResourceSet>) {
      found->get_to(value);
    }
  });
  if (spec.id.empty() || spec.command.empty()) throw json::other_error::create(501, "no job", nullptr);
  return spec;
}

json replica_json(const ReplicaEnd& end) {
  json kept;
  ReplicaEnd::visit(end, [&kept](const char* name, const auto& value) { kept[name] = value; });
  return kept;
}

ReplicaEnd replica_of(const json& kept) {
  ReplicaEnd end;
  ReplicaEnd::visit(end, [&kept](const char* name, auto& value) { kept.at(name).get_to(value); });
  return end;
}

JobState state_of(const std::string& word) {
  for (const JobState state :
       {JobState::kPending, JobState::kRunning, JobState::kSucceeded, JobState::kFailed, JobState::kStopped}) {
    if (word == to_string(state)) return state;
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
