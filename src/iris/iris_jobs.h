// IrisJobs: the interface cluster::Jobs to an Iris cluster, on top of the client in iris/jobs.h.
//
//   spec     iris?controller=http://HOST:PORT[&user=NAME][&token_file=PATH]
//            in a task of Iris the controller is that of the task, unless another one is named
//
// The jobs are those of one user, and their children. An id may be given without the user, and as the beginning of an
// id.
//
// Threading:  any thread; a log belongs to one thread.
// Ownership:  values; a log holds the client.
// Failure:    the codes of iris/jobs.h and iris/job_order.h. Iris forgets jobs by itself, so remove() is
//             kInvalidArgument.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "cluster/jobs.h"
#include "cluster/spec.h"
#include "iris/jobs.h"

namespace fray::iris {

// The endpoint of a controller, with its token. Without an address it is the controller of the task in which this
// process runs.
Result<Endpoint> endpoint_at(const std::string& controller, const std::string& token_file);
// The client for a spec. kInvalidArgument names the key that is unknown or missing.
Result<Jobs> jobs_of(const cluster::Spec& spec, std::function<bool()> interrupted);

class IrisJobs : public cluster::Jobs {
 public:
  using Ids = cluster::Ids;
  using Infos = cluster::Infos;

  explicit IrisJobs(iris::Jobs jobs) : jobs_(std::move(jobs)) {}

  Result<JobInfo> submit(JobSpec spec, const Patience& patience) override;
  Result<Infos> list(const Patience& patience) override;
  Result<Infos> get(const Ids& ids, const Patience& patience) override;
  Result<Infos> wait(const Ids& ids, const Patience& patience) override;
  // Stops the jobs and their children.
  Result<Infos> stop(const Ids& ids, const Patience& patience) override;
  Result<Infos> remove(const Ids& ids, const Patience& patience) override;
  // The number of an attempt in the request counts for each replica by itself.
  Result<std::unique_ptr<cluster::JobLog>> open_log(const cluster::LogRequest& request,
                                                    const Patience& patience) override;

 private:
  Result<std::string> find(const std::string& id) const;
  Result<std::vector<std::string>> find_all(const Ids& ids) const;

  iris::Jobs jobs_;
};

}  // namespace fray::iris
