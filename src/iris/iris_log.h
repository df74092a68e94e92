// open_iris_log(): a job's output as cluster::JobLog has it: the lines of its tasks, which are replicas.
//
//   not followed     what there is of one attempt of each task, the newest unless one is named
//   followed         that attempt and all later ones, to what comes after the job's end
//
// The lines of an attempt come one by one and whole. Standard output is stream 1; standard error, and what the worker itself says
// of building and starting a task, stream 2.
//
// Threading:  one thread.
// Ownership:  holds a copy of the client.
// Failure:    kNotFound for an attempt that no task has had; else as iris/log_follower.h.
#pragma once

#include <memory>

#include "base/status.h"
#include "cluster/jobs.h"
#include "iris/jobs.h"

namespace fray::iris {

Result<std::unique_ptr<cluster::JobLog>> open_iris_log(const Jobs& jobs, const JobDetails& job,
                                                       const cluster::LogRequest& request);

}  // namespace fray::iris
