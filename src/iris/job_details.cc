#include "iris/job_details.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "iris/job_program.h"
#include "iris/messages.h"
#include "iris/names.h"
#include "model/json_text.h"

namespace fray::iris {

namespace {

using nlohmann::json;

// Names of the states, by their numbers in the protocol.
constexpr std::array<std::string_view, 9> kJobStates = {
    "UNKNOWN", "PENDING", "BUILDING", "RUNNING", "SUCCEEDED", "FAILED", "KILLED", "WORKER_FAILED", "UNSCHEDULABLE"};
constexpr std::array<std::string_view, 11> kTaskStates = {"UNKNOWN",       "PENDING",  "BUILDING", "RUNNING",
                                                          "SUCCEEDED",     "FAILED",   "KILLED",   "WORKER_FAILED",
                                                          "UNSCHEDULABLE", "ASSIGNED", "PREEMPTED"};

std::string task_state(int number) {
  const bool is_known = number >= 0 && static_cast<std::size_t>(number) < kTaskStates.size();
  return std::string(kTaskStates[is_known ? static_cast<std::size_t>(number) : 0]);
}

// Iris gives the number of the signal, negated, for a program that a signal has ended.
int shell_code(int code) { return code < 0 ? 128 - code : code; }

bool has_exit_code(int state) { return state == wire::TASK_STATE_SUCCEEDED || state == wire::TASK_STATE_FAILED; }

int index_of(std::string_view task_id) {
  int index = 0;
  const std::string_view digits = task_id.substr(task_id.rfind('/') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return index;
}

std::int64_t ms_of(const std::optional<wire::Timestamp>& time) { return time ? time->epoch_ms : 0; }

// Iris numbers the states of tasks as those of jobs, and has two more of them.
fray::JobState status_of_task(int number) {
  if (number == wire::TASK_STATE_PREEMPTED) return fray::JobState::kFailed;
  return status_of(job_state(number));
}

std::map<std::string, std::string> metadata_in(const std::string& text) {
  std::map<std::string, std::string> metadata;
  const json document = parse_json(text);
  if (!document.is_object()) return metadata;
  for (const auto& [name, value] : document.items()) {
    if (value.is_string()) metadata[name] = value.get<std::string>();
  }
  return metadata;
}

// Resources that a request cannot name are left out.
ResourceSet resources_in(const wire::ResourceSpec& spec) {
  ResourceSet resources;
  auto add = [&resources](std::string_view name, double amount) { (void)resources.set(name, amount).is_ok(); };
  add("CPU", spec.cpu_millicores / 1000.0);
  add("memory", static_cast<double>(spec.memory_bytes));
  add("disk", static_cast<double>(spec.disk_bytes));
  if (!spec.device) return resources;
  if (spec.device->gpu)
    add(spec.device->gpu->variant.empty() ? "GPU" : spec.device->gpu->variant, spec.device->gpu->count);
  if (spec.device->tpu) add(spec.device->tpu->variant, spec.device->tpu->count);
  return resources;
}

Band band_in(int number) {
  const bool is_known = number >= 0 && number <= static_cast<int>(Band::kBatch);
  return is_known ? static_cast<Band>(number) : Band::kDefault;
}

void add_request(const wire::LaunchJobRequest& request, JobDetails* job) {
  if (request.entrypoint && request.entrypoint->run_command) {
    job->argv = command_in(request.entrypoint->run_command->argv);
  }
  if (request.resources) job->resources = resources_in(*request.resources);
  job->max_failures = request.max_retries_failure;
  job->max_preemptions = request.max_retries_preemption;
  job->timeout_ms = request.timeout ? request.timeout->milliseconds : 0;
  job->band = band_in(request.priority_band);
  if (!request.environment) return;
  const auto& variables = request.environment->env_vars;
  if (const auto mark = variables.find(kSubmissionVariable); mark != variables.end()) job->mark = mark->second;
  if (const auto told = variables.find(kMetadataVariable); told != variables.end()) {
    job->metadata = metadata_in(told->second);
    if (auto name = job->metadata.extract(kNameInMetadata)) job->name = name.mapped();
  }
}

json time_or_null(std::int64_t ms) { return ms > 0 ? json(ms) : json(nullptr); }

}  // namespace

std::string_view to_string(JobState state) { return kJobStates[static_cast<std::size_t>(state)]; }

JobState job_state(int number) {
  const bool is_known = number >= 0 && static_cast<std::size_t>(number) < kJobStates.size();
  return is_known ? static_cast<JobState>(number) : JobState::kUnknown;
}

fray::JobState status_of(JobState state) {
  switch (state) {
    case JobState::kRunning:
      return fray::JobState::kRunning;
    case JobState::kSucceeded:
      return fray::JobState::kSucceeded;
    case JobState::kFailed:
    case JobState::kWorkerFailed:
    case JobState::kUnschedulable:
      return fray::JobState::kFailed;
    case JobState::kKilled:
      return fray::JobState::kStopped;
    case JobState::kUnknown:
    case JobState::kPending:
    case JobState::kBuilding:
      break;
  }
  return fray::JobState::kPending;
}

std::optional<int> JobDetails::exit_code() const {
  if (state == JobState::kSucceeded) return 0;
  if (!is_over(state)) return std::nullopt;
  for (const TaskDetails& task : tasks) {
    if (task.exit_code && *task.exit_code != 0) return task.exit_code;
  }
  return std::nullopt;
}

json TaskDetails::to_json() const {
  json tries = json::array();
  for (const AttemptDetails& each : attempts) {
    tries.push_back({{"attempt", each.number},
                     {"state", each.state},
                     {"worker", each.worker},
                     {"exit_code", each.exit_code},
                     {"error", each.error},
                     {"worker_failure", each.is_worker_failure}});
  }
  return {{"id", id},
          {"index", index},
          {"state", state},
          {"status", fray::to_string(status)},
          {"exit_code", exit_code ? json(*exit_code) : json(nullptr)},
          {"error", error},
          {"worker", worker},
          {"pending_reason", pending_reason},
          {"attempt", attempt},
          {"attempts", tries}};
}

json JobDetails::to_json() const {
  json task_documents = json::array();
  for (const TaskDetails& task : tasks) task_documents.push_back(task.to_json());
  const std::optional<int> code = exit_code();
  return {{"id", id},
          {"name", name},
          {"metadata", metadata},
          {"state", to_string(state)},
          {"status", fray::to_string(status_of(state))},
          {"error", error},
          {"pending_reason", pending_reason},
          {"submitted_ms", time_or_null(submitted_ms)},
          {"started_ms", time_or_null(started_ms)},
          {"finished_ms", time_or_null(finished_ms)},
          {"failures", failures},
          {"preemptions", preemptions},
          {"replicas", replicas},
          {"has_children", has_children},
          {"task_states", task_states},
          {"argv", argv},
          {"exit_code", code ? json(*code) : json(nullptr)},
          {"tasks", task_documents}};
}

TaskDetails details_of(const wire::TaskStatus& status) {
  TaskDetails task;
  task.id = status.task_id;
  task.index = index_of(task.id);
  task.state = task_state(status.state);
  task.status = status_of_task(status.state);
  if (has_exit_code(status.state)) task.exit_code = shell_code(status.exit_code);
  task.error = status.error;
  task.worker = status.worker_id;
  task.pending_reason = status.pending_reason;
  task.attempt = status.current_attempt_id;
  for (const wire::TaskAttempt& each : status.attempts) {
    task.attempts.push_back({each.attempt_id, task_state(each.state), each.worker_id, shell_code(each.exit_code),
                             each.error, each.is_worker_failure});
  }
  return task;
}

JobDetails details_of(const wire::JobStatus& status) {
  JobDetails job;
  job.id = status.job_id;
  job.name = stem_of(name_in(job.id));
  job.state = job_state(status.state);
  job.error = status.error;
  // Controllers repeat the error here for a job that has ended.
  if (!is_over(job.state)) job.pending_reason = status.pending_reason;
  job.submitted_ms = ms_of(status.submitted_at);
  job.started_ms = ms_of(status.started_at);
  job.finished_ms = ms_of(status.finished_at);
  job.failures = status.failure_count;
  job.preemptions = status.preemption_count;
  job.replicas = status.task_count;
  job.has_children = status.has_children;
  job.task_states = status.task_state_counts;
  return job;
}

JobDetails details_of(const wire::GetJobStatusResponse& answer) {
  JobDetails job = details_of(answer.job.value_or(wire::JobStatus{}));
  if (answer.request) add_request(*answer.request, &job);
  return job;
}

}  // namespace fray::iris
