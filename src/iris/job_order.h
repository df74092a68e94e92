// A job as all clusters take it (model/job_spec.h) and tell of it (model/job_info.h), and as Iris has both.
//
//   resources     CPU, memory, disk; GPU for any kind; else the kind of the device: {"h100": 8}, {"v5litepod-16": 4}
//   runtime_env   package_requirements, extras, python_version, container_image, regions, zone, preemptible
//   priority      below 0 the band BATCH, above 0 PRODUCTION
//
// What a controller tells in its own words is the JobInfo's `further`: {"iris": {...}}.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    kInvalidArgument names the field that Iris has not, or has otherwise, and what to write.
#pragma once

#include "base/status.h"
#include "iris/job_details.h"
#include "iris/job_request.h"
#include "model/job_info.h"
#include "model/job_spec.h"

namespace fray::iris {

// Under a name that is new, unless the spec has an id.
Result<JobRequest> request_of(const JobSpec& spec);
JobInfo info_of(const JobDetails& details);

}  // namespace fray::iris
