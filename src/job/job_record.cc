#include "job/job_record.h"

#include <type_traits>

#include <nlohmann/json.hpp>

#include "model/json_fields.h"
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

// Earlier releases stored a text here that contains a JSON object.
Texts texts_of(const json& kept) {
  const json given = kept.is_string() ? parse_json(kept.get<std::string>()) : kept;
  Texts texts;
  if (!given.is_object()) return texts;
  for (const auto& [name, text] : given.items()) {
    texts[name] = text.is_string() ? text.get<std::string>() : json_text(text);
  }
  return texts;
}

// The fields by their names, except resources, which are stored in exact units.
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

// Fields that the record lacks, because it is older than they are, have the defaults of JobSpec.
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

JobState state_of(const std::string& word) {
  for (const JobState state :
       {JobState::kPending, JobState::kRunning, JobState::kSucceeded, JobState::kFailed, JobState::kStopped}) {
    if (word == to_string(state)) return state;
  }
  throw json::other_error::create(501, "unknown state", nullptr);
}

}  // namespace

}  // namespace fray::job

template <>
struct nlohmann::adl_serializer<fray::JobSpec> {
  static void to_json(json& kept, const fray::JobSpec& spec) { kept = fray::job::spec_json(spec); }
  static void from_json(const json& kept, fray::JobSpec& spec) { spec = fray::job::spec_of(kept); }
};

template <>
struct nlohmann::adl_serializer<fray::JobState> {
  static void to_json(json& kept, fray::JobState state) { kept = fray::job::to_string(state); }
  static void from_json(const json& kept, fray::JobState& state) {
    state = fray::job::state_of(kept.get<std::string>());
  }
};

namespace fray::job {

// Commands and folders may hold any bytes; those that are not UTF-8 are replaced.
std::string JobRecord::json() const { return fields_text(*this); }

Result<JobRecord> JobRecord::parse(std::string_view text) {
  return read_fields<JobRecord>(text, "this is no record of a job");
}

}  // namespace fray::job
