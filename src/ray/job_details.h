// JobDetails: what a Ray cluster says of a job, and the decoders of its other answers.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    kCorruption: the bytes are no JSON, or not the JSON that Ray sends; the message has their beginning. Keys that
//             are not known are left alone, missing ones stay empty.
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

  // What verbs take.
  const std::string& id() const { return submission_id.empty() ? job_id : submission_id; }
  nlohmann::json to_json() const;
};

// Metadata under which a submission is known again; not shown to users.
inline constexpr const char* kSubmissionKey = "fray_submission";

Result<JobDetails> parse_job(std::string_view body);
Result<std::vector<JobDetails>> parse_jobs(std::string_view body);
// The value of one key that is a text, or true or false.
Result<std::string> parse_text(std::string_view body, const char* key);
Result<bool> parse_flag(std::string_view body, const char* key);

// What each living node has, by name of the resource, from the answer of /api/v0/nodes?detail=true.
using NodeResources = std::map<std::string, double>;
Result<std::vector<NodeResources>> parse_nodes(std::string_view body);

// Numbers of a release, "2.60.0rc1" as {2, 60}; kCorruption for anything else.
Result<std::pair<int, int>> parse_release(std::string_view release);

}  // namespace fray::ray
