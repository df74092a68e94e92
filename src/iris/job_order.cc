#include "iris/job_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <csignal>
#include <nlohmann/json.hpp>

#include "iris/job_program.h"
#include "iris/names.h"
#include "iris/tpu_slice.h"
#include "model/json_text.h"
#include "model/members.h"

namespace fray::iris {

namespace {

using nlohmann::json;

constexpr double kMostNumber = std::numeric_limits<std::int32_t>::max();
constexpr double kMostBytes = 9e18;
constexpr const char* kAnyUser = "user";  // who it is, the controller says
constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kMostMs = 9'000'000'000'000;  // what fits into a number of nanoseconds
constexpr int kMostReplicasTold = 100'000;

// ---- What is asked for

Status check_what_iris_has(const JobSpec& spec) {
  const JobSpec plain;
  const std::pair<const char*, bool> asked[] = {
      {"grace_seconds", spec.grace_seconds != plain.grace_seconds},
      {"max_processes", spec.max_processes != plain.max_processes},
      {"max_files", spec.max_files != plain.max_files},
      {"call", !spec.call.empty()},
  };
  for (const auto& [name, is_asked] : asked) {
    if (is_asked) return wrong(fmt::format("jobs of an Iris cluster have no {}; leave it out", name));
  }
  return Status::ok();
}

Result<double> at_most(std::string_view what, double amount, double most) {
  if (amount <= most) return amount;
  return wrong(fmt::format("{} is {:.15g}; Iris takes {:.15g} at most", what, amount, most));
}

Result<std::int32_t> whole_number(std::string_view what, double amount) {
  FRAY_ASSIGN_OR_RETURN(const double taken, at_most(what, std::ceil(amount), kMostNumber));
  return static_cast<std::int32_t>(taken);
}

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// By the name of a resource that is neither of the usual ones.
Result<Device> device_named(const std::string& name, double amount) {
  const std::string kind = lowered(name);
  if (amount != std::floor(amount)) {
    return wrong(fmt::format("{} is {:.15g}; devices of an Iris cluster are whole numbers", name, amount));
  }
  FRAY_ASSIGN_OR_RETURN(const std::int32_t count, whole_number(name, amount));
  if (kind == "gpu") return Device{Device::Kind::kGpu, "", "", count};
  if (kind == "tpu") {
    return wrong(
        "Iris needs to know which TPU is meant: name the slice and the chips of each machine, such as "
        "v5litepod-16:4");
  }
  const TpuSlice* slice = find_tpu_slice(kind);
  if (slice == nullptr && is_like_tpu_slice(kind)) {
    return wrong(fmt::format("there is no TPU slice {}; known are {}", name, known_tpu_slices(kind)));
  }
  if (slice == nullptr) return Device{Device::Kind::kGpu, kind, "", count};
  if (count == slice->chips_per_machine) return Device{Device::Kind::kTpu, kind, "", count};
  return wrong(fmt::format("each machine of a {} has {} chips, of which a replica has all; write {}:{}", name,
                           slice->chips_per_machine, name, slice->chips_per_machine));
}

Status add_resource(const std::string& name, double amount, std::string* device, JobRequest* request) {
  if (name == "CPU") {
    FRAY_ASSIGN_OR_RETURN(request->cpu_millicores, whole_number("CPU in thousandths", amount * 1000));
  } else if (name == "memory") {
    FRAY_ASSIGN_OR_RETURN(const double bytes, at_most(name, amount, kMostBytes));
    request->memory_bytes = static_cast<std::int64_t>(bytes);
  } else if (name == "disk") {
    FRAY_ASSIGN_OR_RETURN(const double bytes, at_most(name, amount, kMostBytes));
    request->disk_bytes = static_cast<std::int64_t>(bytes);
  } else if (device->empty()) {
    *device = name;
    FRAY_ASSIGN_OR_RETURN(request->device, device_named(name, amount));
  } else {
    return wrong(fmt::format("a task of Iris has devices of one kind; {} and {} were asked for", *device, name));
  }
  return Status::ok();
}

Status add_environment(const JsonObject& text, JobRequest* request) {
  if (text.empty()) return Status::ok();
  const json document = parse_json(text);
  if (!document.is_object()) return wrong_type("runtime_env", "an object", document);
  Members members(document);
  std::vector<std::string> regions;
  std::string zone;
  FRAY_RETURN_IF_ERROR(members.text_list("package_requirements", &request->pip_packages));
  FRAY_RETURN_IF_ERROR(members.text_list("extras", &request->extras));
  FRAY_RETURN_IF_ERROR(members.text("python_version", &request->python_version));
  FRAY_RETURN_IF_ERROR(members.text("container_image", &request->task_image));
  FRAY_RETURN_IF_ERROR(members.text_list("regions", &regions));
  FRAY_RETURN_IF_ERROR(members.text("zone", &zone));
  const json preemptible = members.take("preemptible");
  FRAY_RETURN_IF_ERROR(members.end());
  if (!preemptible.is_null() && !preemptible.is_boolean())
    return wrong_type("preemptible", "true or false", preemptible);
  if (preemptible == false) request->constraints.push_back(any_of("preemptible", {"false"}));
  if (!regions.empty()) request->constraints.push_back(any_of("region", regions));
  if (!zone.empty()) request->constraints.push_back(any_of("zone", {zone}));
  return Status::ok();
}

Band band_of(std::int32_t priority) {
  if (priority == 0) return Band::kDefault;
  return priority < 0 ? Band::kBatch : Band::kProduction;
}

std::string name_for_people(const JobSpec& spec) {
  if (!spec.name.empty()) return spec.name;
  return spec.id.empty() ? job_name_of(spec.command) : spec.id;
}

// The name under which it goes, and where a name for people stays that is another one.
Status add_name(const JobSpec& spec, JobRequest* request) {
  request->metadata = spec.metadata;
  if (!spec.id.empty()) {
    request->name = spec.id;
    if (!spec.name.empty()) request->metadata.emplace(kNameInMetadata, spec.name);
  } else {
    const std::string stem = name_for_people(spec);
    FRAY_RETURN_IF_ERROR(job_id(kAnyUser, "", stem).status());
    request->name = new_name(stem);
  }
  return job_id(kAnyUser, "", request->name).status();
}

// ---- What is told

// A controller may say anything.
std::uint32_t count_of(int number) { return static_cast<std::uint32_t>(std::max(number, 0)); }

std::int64_t ns_of(std::int64_t ms) { return std::clamp<std::int64_t>(ms, 0, kMostMs) * kNsPerMs; }

int priority_of(Band band) {
  if (band == Band::kBatch) return -1;
  return band == Band::kProduction ? 1 : 0;
}

ReplicaEnd end_of(const TaskDetails& task) {
  ReplicaEnd end;
  if (task.exit_code) {
    end.exit_code = *task.exit_code;
  } else {
    end.signal = SIGKILL;  // by its worker, or with it
  }
  end.asked = task.status == fray::JobState::kStopped;
  if (!end.succeeded()) end.text = task.error;
  return end;
}

JobPhase phase_of(JobState state) {
  if (is_over(state)) return JobPhase::kEnded;
  if (state == JobState::kBuilding) return JobPhase::kBuilding;
  return state == JobState::kRunning ? JobPhase::kRunning : JobPhase::kQueued;
}

}  // namespace

Result<JobRequest> request_of(const JobSpec& spec) {
  FRAY_RETURN_IF_ERROR(check_numbers(spec));
  FRAY_RETURN_IF_ERROR(check_what_iris_has(spec));
  JobRequest request;
  if (!spec.command.empty()) request.argv = in_workdir(name_for_people(spec), spec.command);
  FRAY_RETURN_IF_ERROR(add_name(spec, &request));
  request.workspace = spec.folder;
  request.env_vars = spec.environment;
  std::string device;
  for (const auto& [name, units] : spec.resources.units()) {
    FRAY_RETURN_IF_ERROR(add_resource(name, spec.resources.amount(name), &device, &request));
  }
  FRAY_RETURN_IF_ERROR(add_environment(spec.runtime_env, &request));
  request.replicas = static_cast<std::int32_t>(spec.replicas);
  FRAY_ASSIGN_OR_RETURN(request.max_retries_failure, whole_number("max_failures", spec.max_failures));
  FRAY_ASSIGN_OR_RETURN(request.max_retries_preemption, whole_number("max_preemptions", spec.max_preemptions));
  request.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(spec.deadline_seconds * 1000)));
  request.band = band_of(spec.priority);
  FRAY_RETURN_IF_ERROR(check(request));
  // Completed once it is known whose child it is; what cannot be is told now.
  JobRequest whole = request;
  FRAY_RETURN_IF_ERROR(complete(&whole));
  return request;
}

JobInfo info_of(const JobDetails& details) {
  JobInfo info;
  info.spec.id = details.id;
  info.spec.metadata = details.metadata;
  info.spec.name = details.name;
  info.spec.command = details.argv;
  info.spec.resources = details.resources;
  info.spec.replicas = count_of(std::min(details.replicas, kMostReplicasTold));
  info.spec.max_failures = count_of(details.max_failures);
  info.spec.max_preemptions = count_of(details.max_preemptions);
  info.spec.deadline_seconds = static_cast<double>(details.timeout_ms) / 1000;
  info.spec.priority = priority_of(details.band);
  info.state = status_of(details.state);
  info.phase = phase_of(details.state);
  info.pending_reason = details.pending_reason;
  info.message = info.has_ended() ? details.error : "";
  info.exit_code = details.exit_code().value_or(-1);
  info.attempt = details.started_ms > 0 ? 1 : 0;
  for (const TaskDetails& task : details.tasks) {
    if (info.attempt > 0) info.attempt = std::max(info.attempt, count_of(task.attempt) + 1);
    if (info.has_ended()) info.replicas.push_back(end_of(task));
  }
  info.failures = count_of(details.failures);
  info.preemptions = count_of(details.preemptions);
  if (is_child(details.id)) info.parent = parent_in(details.id);
  info.submitted_unix_ns = ns_of(details.submitted_ms);
  info.started_unix_ns = ns_of(details.started_ms);
  info.ended_unix_ns = info.has_ended() ? ns_of(details.finished_ms) : 0;
  info.further = json_text({{"iris", details.to_json()}});
  return info;
}

}  // namespace fray::iris
