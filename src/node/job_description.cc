#include "node/job_description.h"

#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"

namespace fray::node {

namespace {

using nlohmann::json;

// RFC 3339, in UTC, to the microsecond; null for never.
json time_text(std::int64_t unix_ns) {
  if (unix_ns == 0) return nullptr;
  const std::time_t seconds = unix_ns / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, unix_ns % 1'000'000'000 / 1000);
}

json resources_json(const ResourceSet& resources) {
  json amounts = json::object();
  for (const auto& [name, units] : resources.units()) amounts[name] = resources.amount(name);
  return amounts;
}

json metadata_json(const std::string& text) {
  json metadata = text.empty() ? json::object() : parse_json(text);
  return metadata.is_object() ? metadata : json::object();
}

const char* state_of(const job::ReplicaEnd& end) {
  if (end.succeeded()) return "succeeded";
  return end.asked ? "stopped" : "failed";
}

json replica_json(const job::ReplicaEnd& end) {
  json row = {{"status", state_of(end)},
              {"exit_code", end.signal == 0 ? json(end.exit_code) : json(nullptr)},
              {"signal", end.signal != 0 ? json(end.signal) : json(nullptr)},
              {"peak_memory_bytes", end.peak_memory_bytes},
              {"error", nullptr}};
  if (end.succeeded()) return row;
  if (!end.text.empty()) {
    row["error"] = end.text;
  } else {
    row["error"] = end.signal != 0 ? fmt::format("killed by signal {}", end.signal)
                                   : fmt::format("exited with code {}", end.exit_code);
  }
  return row;
}

// Memory by the resources; what was asked for alone.
json limits_json(const JobSpec& spec) {
  json limits = json::object();
  if (spec.max_processes > 0) limits["processes"] = spec.max_processes;
  if (spec.max_files > 0) limits["files"] = spec.max_files;
  return limits;
}

// Of the attempt that runs; of the last one where none does; of none.
json replicas_json(const job::JobRecord& record) {
  json rows = json::array();
  const bool known = !record.attempt_open && record.replicas.size() == record.spec.replicas;
  for (std::uint32_t number = 0; number < record.spec.replicas; ++number) {
    rows.push_back(known && job::is_final(record.state)
                       ? replica_json(record.replicas[number])
                       : json{{"status", to_string(record.state)}, {"error", nullptr}});
  }
  return rows;
}

}  // namespace

json describe(const job::JobView& view) {
  const job::JobRecord& record = *view.record;
  const JobSpec& spec = record.spec;
  return {{"schema", "fray/v1"},
          {"id", spec.id},
          {"name", spec.name},
          {"status", to_string(record.state)},
          {"phase", to_string(view.phase)},
          {"pending_reason", view.pending_reason.empty() ? json(nullptr) : json(view.pending_reason)},
          {"message", record.message.empty() ? json(nullptr) : json(record.message)},
          {"exit_code", record.exit_code < 0 ? json(nullptr) : json(record.exit_code)},
          {"command", spec.command},
          {"folder", spec.folder},
          {"resources", resources_json(spec.resources)},
          {"replicas", replicas_json(record)},
          {"attempt", record.attempt},
          {"failures", record.failures},
          {"max_failures", spec.max_failures},
          {"preemptions", record.preemptions},
          {"max_preemptions", spec.max_preemptions},
          {"priority", spec.priority},
          {"deadline_seconds", spec.deadline_seconds > 0 ? json(spec.deadline_seconds) : json(nullptr)},
          {"grace_seconds", spec.grace_seconds},
          {"limits", limits_json(spec)},
          {"parent", record.parent.empty() ? json(nullptr) : json(record.parent)},
          {"metadata", metadata_json(spec.metadata)},
          {"submitted_at", time_text(record.accepted_unix_ns)},
          {"started_at", time_text(record.started_unix_ns)},
          {"ended_at", time_text(record.ended_unix_ns)}};
}

}  // namespace fray::node
