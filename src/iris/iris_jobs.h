// IrisJobs: an Iris cluster's jobs as cluster::Jobs has them, over the client of its controller (iris/jobs.h).
//
//   spec     iris?controller=http://HOST:PORT[&user=NAME][&token_file=PATH]; in a task of Iris its own controller, unless another
//            one is named
//
// Jobs are those of one user, and their children; an id may leave the user out, and be the beginning of one.
//
// Threading:  any thread; logs one.
// Ownership:  values; a log holds the client.
// Failure:    as iris/jobs.h and iris/job_order.h. Iris forgets jobs by itself, so remove() is kInvalidArgument.
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

// Where a controller answers, and who asks there; without an address the one of the task in which this process runs.
Result<Endpoint> endpoint_at(const std::string& controller, const std::string& token_file);
// kInvalidArgument says which key is not known or missing.
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
  // With their children.
  Result<Infos> stop(const Ids& ids, const Patience& patience) override;
  Result<Infos> remove(const Ids& ids, const Patience& patience) override;
  // Attempts are counted for each replica by itself.
  Result<std::unique_ptr<cluster::JobLog>> open_log(const cluster::LogRequest& request,
                                                    const Patience& patience) override;

 private:
  Result<std::string> find(const std::string& id) const;
  Result<std::vector<std::string>> find_all(const Ids& ids) const;

  iris::Jobs jobs_;
};

}  // namespace fray::iris
