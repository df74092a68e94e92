// open_iris_log(): a job's output as a cluster::JobLog. The tasks of an Iris job are its replicas.
//
//   not followed     the output so far of one attempt of each task: the one that was asked for, or the newest
//   followed         the newest attempt and all later ones, or the one that was asked for alone, with the lines that
//                    arrive after the end of the job or of that attempt
//
// Output comes in whole lines. Stream 1 is standard output. Stream 2 is standard error, together with what the worker
// itself says while it builds and starts a task.
//
// Threading:  one thread.
// Ownership:  holds a copy of the client.
// Failure:    kNotFound for an attempt that no task has had; else the codes of iris/log_follower.h.
#pragma once

#include <memory>

#include "base/status.h"
#include "cluster/jobs.h"
#include "iris/jobs.h"

namespace fray::iris {

Result<std::unique_ptr<cluster::JobLog>> open_iris_log(const Jobs& jobs, const JobDetails& job,
                                                       const cluster::LogRequest& request);

}  // namespace fray::iris
