// JobDetails: what a Ray cluster says of a job. The decoders of the cluster's other answers are here too.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    kCorruption when the bytes are no JSON, or not the JSON that Ray sends; the message quotes their
//             beginning. Unknown keys are ignored, and fields whose keys are missing stay empty.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/status.h"

namespace fray::ray {

enum class JobStatus { kPending, kRunning, kStopped, kSucceeded, kFailed };
std::string_view to_string(JobStatus status);
inline bool is_over(JobStatus status) { return status != JobStatus::kPending && status != JobStatus::kRunning; }

struct JobDetails {
  std::string type;           // "SUBMISSION", or "DRIVER" for a program that called ray.init by itself
  std::string submission_id;  // empty for a driver
  std::string job_id;         // empty until a driver has connected
  JobStatus status = JobStatus::kPending;
  std::string entrypoint;
  std::string message;
  std::string error_type;
  std::int64_t start_time_ms = 0;  // 0: not yet
  std::int64_t end_time_ms = 0;
  std::optional<int> exit_code;
  std::map<std::string, std::string> metadata;
  nlohmann::json runtime_env;

  // The id by which the API's verbs name the job.
  const std::string& id() const { return submission_id.empty() ? job_id : submission_id; }
  nlohmann::json to_json() const;
};

// The key in a job's metadata under which a submission recognises its own job. Users do not see it.
inline constexpr const char* kSubmissionKey = "fray_submission";

Result<JobDetails> parse_job(std::string_view body);
Result<std::vector<JobDetails>> parse_jobs(std::string_view body);
// The value of one key of a JSON object, where it is a text or a boolean.
Result<std::string> parse_text(std::string_view body, const char* key);
Result<bool> parse_flag(std::string_view body, const char* key);

// The resources of each living node, by name, from the answer to GET /api/v0/nodes?detail=true.
using NodeResources = std::map<std::string, double>;
Result<std::vector<NodeResources>> parse_nodes(std::string_view body);

// The first two numbers of a release: {2, 60} for "2.60.0rc1". kCorruption for any other text.
Result<std::pair<int, int>> parse_release(std::string_view release);

}  // namespace fray::ray
