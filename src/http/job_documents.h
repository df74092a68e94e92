// Reads the bodies of requests for jobs, and translates between Ray's job API and ours: its requests become a JobSpec,
// and a JobInfo becomes one of its documents.
//
// Where a request leaves them out, a job has the variables that the node was started with, and the user's home as
// folder.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    kInvalidArgument says what was given, what is allowed, and which key it was. Values of environment variables are
//             in no message.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "http/job_environment.h"
#include "http/package_store.h"
#include "model/job_info.h"
#include "model/job_spec.h"

namespace fray::http {

// The JSON schema of an order, for the OpenAPI document.
nlohmann::json order_schema();
Result<JobSpec> parse_order(std::string_view body, const OwnPython& python);

// Ray's JobSubmitRequest. Its entrypoint is a line for the shell; its two streams become one, as Ray has them.
nlohmann::json ray_order_schema();
Result<JobSpec> parse_ray_order(std::string_view body, const OwnPython& python, const PackageStore& packages);
// Ray's JobDetails of a job.
nlohmann::json ray_details(const JobInfo& job);

}  // namespace fray::http
