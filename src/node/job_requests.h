// JobRequests: what sockets ask about jobs, and their answers.
//
// Threading:  the node's loop.
// Ownership:  `jobs` must outlive it, and so must the connections, until connection_ended().
// Failure:    handle() is not ok when the connection breaks the rules. What a request asks wrongly is in its answer.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "node/job_carrier.h"
#include "node/roster.h"
#include "wire/job.h"

namespace fray::node {

class JobRequests {
 public:
  explicit JobRequests(JobCarrier& jobs) : jobs_(jobs) {}

  Status handle(Connection& connection, wire::ControlType type, wire::Incoming& frame);
  void connection_ended(Connection& connection);

 private:
  struct Pending {  // requests of one connection that are not answered yet
    std::set<JobCarrier::WaitId> waits;
    std::set<JobLogs::ReaderId> readers;
  };

  void submit(Connection& connection, std::uint64_t ticket, JobSpec spec);
  void wait(Connection& connection, std::uint64_t ticket, const wire::JobNames& names);
  void read_log(Connection& connection, std::uint64_t ticket, wire::ReadJobLog request);
  void answer(Connection& connection, std::uint64_t ticket, const Result<std::string>& json);

  JobCarrier& jobs_;
  std::map<Connection*, Pending> pending_;
};

}  // namespace fray::node
