// JobDetails, TaskDetails: what a controller says of a job and of its tasks.
//
// Threading:  values.
// Ownership:  own their strings.
// Failure:    states of later controllers that are not known here are kUnknown, which is no end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "iris/job_request.h"
#include "model/job_info.h"
#include "model/resource_set.h"

namespace fray::iris {

namespace wire {
struct GetJobStatusResponse;
struct JobStatus;
struct TaskStatus;
}  // namespace wire

enum class JobState {
  kUnknown,
  kPending,
  kBuilding,
  kRunning,
  kSucceeded,
  kFailed,
  kKilled,
  kWorkerFailed,
  kUnschedulable,
};
std::string_view to_string(JobState state);  // "RUNNING"
JobState job_state(int number);
inline bool is_over(JobState state) { return state >= JobState::kSucceeded; }
// As all clusters have it.
fray::JobState status_of(JobState state);

struct AttemptDetails {
  int number = 0;
  std::string state;
  std::string worker;
  int exit_code = 0;
  std::string error;
  bool is_worker_failure = false;
};

struct TaskDetails {
  std::string id;
  int index = 0;
  std::string state;  // "RUNNING", "PREEMPTED", ...
  fray::JobState status = fray::JobState::kPending;
  std::optional<int> exit_code;  // of its last attempt, once its program has ended; 137 after SIGKILL
  std::string error;
  std::string worker;
  std::string pending_reason;
  int attempt = 0;
  std::vector<AttemptDetails> attempts;

  nlohmann::json to_json() const;
};

struct JobDetails {
  std::string id;
  std::string name;  // without what made it new
  JobState state = JobState::kUnknown;
  std::string error;
  std::string pending_reason;  // of one that waits
  std::int64_t submitted_ms = 0;
  std::int64_t started_ms = 0;   // 0: not yet
  std::int64_t finished_ms = 0;  // 0: not yet
  int failures = 0;
  int preemptions = 0;
  int replicas = 0;
  bool has_children = false;
  std::map<std::string, int> task_states;  // how many tasks are in each, "running"
  // Only where one job was asked after.
  std::vector<std::string> argv;
  std::string mark;  // of its submission
  std::map<std::string, std::string> metadata;
  ResourceSet resources;  // of each replica, as request_of() takes them
  int max_failures = 0;
  int max_preemptions = 0;
  std::int64_t timeout_ms = 0;
  Band band = Band::kDefault;
  std::vector<TaskDetails> tasks;

  // Of the first task that failed; 0 when the job has succeeded; nothing before its end, and where no program has failed.
  std::optional<int> exit_code() const;
  nlohmann::json to_json() const;
};

JobDetails details_of(const wire::JobStatus& status);
JobDetails details_of(const wire::GetJobStatusResponse& answer);
TaskDetails details_of(const wire::TaskStatus& status);

}  // namespace fray::iris
