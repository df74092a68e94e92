// JobDetails and TaskDetails: what a controller says of a job and of its tasks.
//
// Threading:  values.
// Ownership:  own their strings.
// Failure:    a state that this release does not know becomes kUnknown, which does not count as an end.
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
// The state that stands for it on every cluster.
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
  std::optional<int> exit_code;  // of the last attempt, once its program has ended; 137 after SIGKILL
  std::string error;
  std::string worker;
  std::string pending_reason;
  int attempt = 0;
  std::vector<AttemptDetails> attempts;

  nlohmann::json to_json() const;
};

struct JobDetails {
  std::string id;
  std::string name;  // without the random end that new_name() has given it
  JobState state = JobState::kUnknown;
  std::string error;
  std::string pending_reason;  // why a pending job does not run yet
  std::int64_t submitted_ms = 0;
  std::int64_t started_ms = 0;   // 0: not yet
  std::int64_t finished_ms = 0;  // 0: not yet
  int failures = 0;
  int preemptions = 0;
  int replicas = 0;
  bool has_children = false;
  std::map<std::string, int> task_states;  // the number of tasks in each state, by its name: "running"
  // The following are filled in only when a single job was asked for.
  std::vector<std::string> argv;
  std::string mark;  // by which its submission recognises it
  std::map<std::string, std::string> metadata;
  ResourceSet resources;  // for each replica, under the names that request_of() reads
  int max_failures = 0;
  int max_preemptions = 0;
  std::int64_t timeout_ms = 0;
  Band band = Band::kDefault;
  std::vector<TaskDetails> tasks;

  // The exit code of the first task that failed, and 0 for a job that has succeeded. There is none before the end of
  // the job, and none when it failed for another reason than the end of a program.
  std::optional<int> exit_code() const;
  nlohmann::json to_json() const;
};

JobDetails details_of(const wire::JobStatus& status);
JobDetails details_of(const wire::GetJobStatusResponse& answer);
TaskDetails details_of(const wire::TaskStatus& status);

}  // namespace fray::iris
