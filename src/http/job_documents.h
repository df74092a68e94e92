// Orders and descriptions of jobs as documents: Fray's own, and Ray's.
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
#include "http/job_order.h"
#include "http/package_store.h"

namespace fray::http {

// The JSON schema of an order, for the OpenAPI document.
nlohmann::json order_schema();
Result<JobOrder> parse_order(std::string_view body, const OwnPython& python);

// Ray's JobSubmitRequest. Its entrypoint is a line for the shell; its two streams become one, as Ray has them.
nlohmann::json ray_order_schema();
Result<JobOrder> parse_ray_order(std::string_view body, const OwnPython& python, const PackageStore& packages);
// Ray's JobDetails of a job as the node describes it.
nlohmann::json ray_details(const nlohmann::json& job);

}  // namespace fray::http
