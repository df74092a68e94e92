// JobRequests: answers requests about jobs (submit, get, wait, stop, delete, read a log) that arrive on sockets.
//
// Threading:  the node's loop.
// Ownership:  `jobs` must outlive it, and so must the connections, until connection_ended().
// Failure:    handle() is not ok when the connection breaks the format. An error in a request itself is in its answer.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "node/jobs/job_carrier.h"
#include "node/sessions/roster.h"
#include "wire/job.h"

namespace fray::node {

class JobRequests {
 public:
  explicit JobRequests(JobCarrier& jobs) : jobs_(jobs) {}

  using Ids = std::vector<std::string>;
  using Infos = std::vector<JobInfo>;
  // See NodeView.
  Result<JobInfo> submit(JobSpec spec, pid_t submitter);
  Result<Infos> stop(const Ids& ids);
  Result<Infos> remove(const Ids& ids);

  Status handle(Connection& connection, wire::ControlType type, wire::Incoming& frame);
  void connection_ended(Connection& connection);

 private:
  struct Pending {  // requests of one connection that are not answered yet
    std::set<JobCarrier::WaitId> waits;
    std::set<JobLogs::ReaderId> readers;
  };

  template <typename Verb>
  Status each(const Ids& ids, Verb verb);
  void wait(Connection& connection, std::uint64_t ticket, const wire::JobNames& names);
  void read_log(Connection& connection, std::uint64_t ticket, wire::ReadJobLog request);
  void answer(Connection& connection, std::uint64_t ticket, Result<Infos> jobs);

  JobCarrier& jobs_;
  std::map<Connection*, Pending> pending_;
};

}  // namespace fray::node
