// RayJobs: the interface cluster::Jobs to a Ray cluster, on top of the client in ray/jobs.h.
//
//   spec     ray?address=http://HOST:PORT[&ca_file=PATH][&verify=false]
//
// JobInfo::further holds what Ray alone says of a job: {"ray": {...}}. The command of a JobInfo is the job's
// entrypoint, as a single word. Ray does not say when a job was submitted, so the time of its start stands for that,
// too.
//
// Threading:  any thread; a log belongs to one thread.
// Ownership:  values. Each call, and each log that is followed, has its own connection.
// Failure:    the codes of ray/jobs.h. A field of a JobSpec that Ray cannot honour is kInvalidArgument with its name.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "cluster/jobs.h"
#include "cluster/spec.h"
#include "ray/jobs.h"

namespace fray::ray {

// The address that a spec names, and the token for it. kInvalidArgument names the key that is unknown or missing.
Result<Endpoint> endpoint_of(const cluster::Spec& spec, std::function<bool()> interrupted);

// The request to Ray that a JobSpec stands for. kInvalidArgument for what Ray cannot do.
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
  // Ray keeps one stream of output, that of the newest attempt, without times.
  Result<std::unique_ptr<cluster::JobLog>> open_log(const cluster::LogRequest& request,
                                                    const Patience& patience) override;

 private:
  Result<JobDetails> find(const std::string& id) const;

  ray::Jobs jobs_;
};

}  // namespace fray::ray
