// Translates what all clusters have in common into Iris's terms, and back: a JobSpec (model/job_spec.h) becomes a
// JobRequest, and JobDetails become a JobInfo (model/job_info.h).
//
//   resources     CPU, memory, disk; GPU for any kind of GPU; else the kind of a device: {"h100": 8}, {"v5litepod-16": 4}
//   runtime_env   package_requirements, extras, python_version, container_image, regions, zone, preemptible
//   priority      below 0 the band BATCH, above 0 the band PRODUCTION
//
// JobInfo::further holds what Iris alone says of a job: {"iris": {...}}.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    kInvalidArgument names the field that Iris does not have or spells differently, and says what to write.
#pragma once

#include "base/status.h"
#include "iris/job_details.h"
#include "iris/job_request.h"
#include "model/job_info.h"
#include "model/job_spec.h"

namespace fray::iris {

// The request has a name that no other job has, unless the spec has an id.
Result<JobRequest> request_of(const JobSpec& spec);
JobInfo info_of(const JobDetails& details);

}  // namespace fray::iris
