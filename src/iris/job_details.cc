#include "iris/job_details.h"

#include <array>
#include <charconv>

#include "iris/job_request.h"
#include "iris/messages.h"

namespace fray::iris {

namespace {

using nlohmann::json;

// By their numbers in the protocol.
constexpr std::array<std::string_view, 9> kJobStates = {
    "UNKNOWN", "PENDING", "BUILDING", "RUNNING", "SUCCEEDED", "FAILED", "KILLED", "WORKER_FAILED", "UNSCHEDULABLE"};
constexpr std::array<std::string_view, 11> kTaskStates = {"UNKNOWN",       "PENDING",  "BUILDING", "RUNNING",
                                                          "SUCCEEDED",     "FAILED",   "KILLED",   "WORKER_FAILED",
                                                          "UNSCHEDULABLE", "ASSIGNED", "PREEMPTED"};

std::string task_state(int number) {
  const bool is_known = number >= 0 && static_cast<std::size_t>(number) < kTaskStates.size();
  return std::string(kTaskStates[is_known ? static_cast<std::size_t>(number) : 0]);
}

// Of a program that a signal has ended Iris tells the signal's number, negative.
int shell_code(int code) { return code < 0 ? 128 - code : code; }

bool has_exit_code(int state) { return state == wire::TASK_STATE_SUCCEEDED || state == wire::TASK_STATE_FAILED; }

int index_of(std::string_view task_id) {
  int index = 0;
  const std::string_view digits = task_id.substr(task_id.rfind('/') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return index;
}

std::int64_t ms_of(const std::optional<wire::Timestamp>& time) { return time ? time->epoch_ms : 0; }

json time_or_null(std::int64_t ms) { return ms > 0 ? json(ms) : json(nullptr); }

}  // namespace

std::string_view to_string(JobState state) { return kJobStates[static_cast<std::size_t>(state)]; }

JobState job_state(int number) {
  const bool is_known = number >= 0 && static_cast<std::size_t>(number) < kJobStates.size();
  return is_known ? static_cast<JobState>(number) : JobState::kUnknown;
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
          {"state", to_string(state)},
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
  job.state = job_state(status.state);
  job.error = status.error;
  // Of a job that has ended, controllers repeat the error here.
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
  const wire::LaunchJobRequest request = answer.request.value_or(wire::LaunchJobRequest{});
  if (request.entrypoint && request.entrypoint->run_command) job.argv = request.entrypoint->run_command->argv;
  if (!request.environment) return job;
  const auto& variables = request.environment->env_vars;
  if (const auto mark = variables.find(kSubmissionVariable); mark != variables.end()) job.mark = mark->second;
  return job;
}

}  // namespace fray::iris
