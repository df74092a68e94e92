// JobClient: the jobs of a node.
//
//   JobClient jobs(socket_path);
//   FRAY_ASSIGN_OR_RETURN(JobInfo job, jobs.submit(spec, {}));
//
// Threading:  any thread; see door/observer.h.
// Ownership:  owns its connections. The node forgets what a call asked for when the call gives up.
// Failure:    the node's own answers, with their codes; else as door::Observer, and "the time is up" at a deadline.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "client/jobs/log_walk.h"
#include "cluster/jobs.h"
#include "door/observer.h"
#include "wire/job.h"

namespace fray::client {

class JobClient : public cluster::Jobs {
 public:
  using Ids = cluster::Ids;
  using Infos = cluster::Infos;

  explicit JobClient(std::string socket_path) : node_(std::move(socket_path)) {}

  // The spec is whole: nothing is added to it.
  Result<JobInfo> submit(JobSpec spec, const Patience& patience) override;
  Result<Infos> list(const Patience& patience) override { return ask(wire::ControlType::kGetJobs, {}, patience); }
  Result<Infos> get(const Ids& ids, const Patience& patience) override {
    return ask_of(wire::ControlType::kGetJobs, ids, patience);
  }
  Result<Infos> wait(const Ids& ids, const Patience& patience) override {
    return ask_of(wire::ControlType::kWaitJobs, ids, patience);
  }
  Result<Infos> stop(const Ids& ids, const Patience& patience) override {
    return ask_of(wire::ControlType::kStopJob, ids, patience);
  }
  Result<Infos> remove(const Ids& ids, const Patience& patience) override {
    return ask_of(wire::ControlType::kDeleteJob, ids, patience);
  }
  Result<std::unique_ptr<cluster::JobLog>> open_log(const cluster::LogRequest& request,
                                                    const Patience& patience) override;

  door::Observer& node() { return node_; }

 private:
  class Log;

  template <typename Reply, typename Message>
  Result<Reply> exchange(wire::ControlType type, const Message& message, const Patience& patience);
  Result<Infos> ask(wire::ControlType type, const Ids& ids, const Patience& patience);
  // No ids mean no jobs.
  Result<Infos> ask_of(wire::ControlType type, const Ids& ids, const Patience& patience) {
    return ids.empty() ? Result<Infos>(Infos()) : ask(type, ids, patience);
  }

  door::Observer node_;
};

}  // namespace fray::client
