// RayJobs: a Ray cluster's jobs as cluster::Jobs has them, over its REST client (ray/jobs.h).
//
//   spec     ray?address=http://HOST:PORT[&ca_file=PATH][&verify=false]
//
// What Ray tells of a job in its own words is the JobInfo's `further`: {"ray": {...}}. A job's command is its entrypoint, one
// word; its first start counts as its submission, which Ray does not tell.
//
// Threading:  any thread; logs one.
// Ownership:  values; a connection lives within a call, or within a log that is followed.
// Failure:    as ray/jobs.h. What a node can do and Ray cannot is kInvalidArgument with the name of the field.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "cluster/jobs.h"
#include "cluster/spec.h"
#include "ray/jobs.h"

namespace fray::ray {

// Where a spec's cluster answers, and who asks there. kInvalidArgument says which key is not known or missing.
Result<Endpoint> endpoint_of(const cluster::Spec& spec, std::function<bool()> interrupted);

// The order as Ray takes it, checked; whatever Ray cannot do is refused.
Result<JobRequest> request_of(const JobSpec& spec);
JobInfo info_of(const JobDetails& details);

class RayJobs : public cluster::Jobs {
 public:
  using Ids = cluster::Ids;
  using Infos = cluster::Infos;

  explicit RayJobs(Endpoint endpoint) : jobs_(std::move(endpoint)) {}

  Result<JobInfo> submit(JobSpec spec, const Patience& patience) override;
  Result<Infos> list(const Patience& patience) override;
  Result<Infos> get(const Ids& ids, const Patience& patience) override;
  Result<Infos> wait(const Ids& ids, const Patience& patience) override;
  Result<Infos> stop(const Ids& ids, const Patience& patience) override;
  Result<Infos> remove(const Ids& ids, const Patience& patience) override;
  // Ray keeps one stream, of the newest attempt, and no times.
  Result<std::unique_ptr<cluster::JobLog>> open_log(const cluster::LogRequest& request,
                                                    const Patience& patience) override;

 private:
  Result<JobDetails> find(const std::string& id) const;

  ray::Jobs jobs_;
};

}  // namespace fray::ray
