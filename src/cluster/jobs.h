// Jobs: the interface to the jobs of a cluster: a node (client/jobs/job_client.h), a Ray cluster (ray/ray_jobs.h) or an Iris
// cluster (iris/iris_jobs.h).
//
//   FRAY_ASSIGN_OR_RETURN(JobInfo job, jobs.submit(spec, patience));
//   FRAY_ASSIGN_OR_RETURN(std::unique_ptr<JobLog> log, jobs.open_log({.id = job.id(), .follow = true}, patience));
//
// An id may be shortened to a beginning that no other job has. A method that takes several ids does nothing when one of
// them is unknown.
//
// Threading:  as the implementation says; calls block.
// Ownership:  a log is its reader's, and must not outlive the cluster that opened it.
// Failure:    kNotFound, kAlreadyExists, kUnavailable (nobody answers), kPermissionDenied, kInvalidArgument for what
//             the cluster cannot do, which the message names; kTimedOut and kCancelled as the patience says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/patience.h"
#include "base/status.h"
#include "model/job_info.h"
#include "model/job_log.h"
#include "model/job_spec.h"

namespace fray::cluster {

using Ids = std::vector<std::string>;
using Infos = std::vector<JobInfo>;

struct LogRequest {
  std::string id;
  bool follow = false;        // to the end of the attempt that is chosen, or over all that come, to the end of the job
  std::uint32_t attempt = 0;  // counted from 1; 0: the newest
  std::optional<std::uint64_t> tail_lines = std::nullopt;  // of each stream
  std::int64_t since_unix_ns = 0;                          // earlier output is left out, to the second
};

class JobLog {
 public:
  virtual ~JobLog() = default;
  // Waits for the next output and returns it; returns nothing at the end of the job or, without `follow`, of the
  // present output. kTimedOut when the patience ends first; later output is not lost.
  virtual Result<LogBatch> next(const Patience& patience) = 0;
};

class Jobs {
 public:
  virtual ~Jobs() = default;

  virtual Result<JobInfo> submit(JobSpec spec, const Patience& patience) = 0;
  virtual Result<Infos> list(const Patience& patience) = 0;  // in the order of acceptance
  virtual Result<Infos> get(const Ids& ids, const Patience& patience) = 0;
  virtual Result<Infos> wait(const Ids& ids, const Patience& patience) = 0;  // until all have ended
  // Asks the jobs to end; no effect on one that has ended.
  virtual Result<Infos> stop(const Ids& ids, const Patience& patience) = 0;
  // Forgets jobs that have ended.
  virtual Result<Infos> remove(const Ids& ids, const Patience& patience) = 0;
  virtual Result<std::unique_ptr<JobLog>> open_log(const LogRequest& request, const Patience& patience) = 0;
};

// wait() for clusters that do not report the end of a job: asks repeatedly, first often, then every two seconds.
Result<Infos> wait_by_asking(Jobs& jobs, const Ids& ids, const Patience& patience);

}  // namespace fray::cluster
