// Jobs as JSON: requests for jobs, and their states. The command line, HTTP and Python use this one form.
//
//   FRAY_ASSIGN_OR_RETURN(Members members, Members::parse(body));
//   JobSpec spec;
//   FRAY_RETURN_IF_ERROR(take_job_spec(members, &spec));
//   FRAY_RETURN_IF_ERROR(members.end());                       // unknown keys are refused
//
// Threading:  functions. Ownership:  values. Failure:    kInvalidArgument names the key and what is allowed; values of
// variables are in no message. Bytes that are no
//             UTF-8 are replaced where a document becomes a text.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "model/job_info.h"
#include "model/job_spec.h"
#include "model/members.h"

namespace fray {

// Takes every key that a JobSpec has. The pickled call is taken from Python alone.
Status take_job_spec(Members& members, JobSpec* spec, bool with_call = false);
// The schema of that for an OpenAPI document.
nlohmann::json job_spec_schema();

// What `fray job status --json` prints: times as RFC 3339 in UTC, null for missing values.
nlohmann::json job_json(const JobInfo& job);
nlohmann::json job_list_json(const std::vector<JobInfo>& jobs);  // an array
// RFC 3339, in UTC, to the microsecond; null for 0.
nlohmann::json time_json(std::int64_t unix_ns);

}  // namespace fray
