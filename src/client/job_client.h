// JobClient: asks a node about jobs: submit, list, wait, stop, read output. What the command line and Python use.
//
//   JobClient jobs(socket_path);
//   FRAY_ASSIGN_OR_RETURN(std::string json, jobs.submit(spec));
//
// Threading:  any thread; see door/observer.h.
// Ownership:  owns its connections. The node forgets what a call asked for when the call gives up.
// Failure:    the node's own answers, with their codes; else as door::Observer, and "the time is up" at a deadline.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "door/observer.h"
#include "model/job_spec.h"
#include "wire/job.h"

namespace fray::client {

class JobClient {
 public:
  using Patience = door::Patience;

  explicit JobClient(std::string socket_path) : node_(std::move(socket_path)) {}

  // Each returns JSON: a job, or an array of them.
  Result<std::string> submit(JobSpec spec, const Patience& patience = {});
  Result<std::string> get(std::vector<std::string> ids, const Patience& patience = {});
  Result<std::string> wait(std::vector<std::string> ids, const Patience& patience);
  Result<std::string> stop(std::vector<std::string> ids, const Patience& patience = {});
  Result<std::string> remove(std::vector<std::string> ids, const Patience& patience = {});

  Result<wire::JobLogOpened> open_log(const wire::OpenJobLog& request, const Patience& patience = {});
  Result<wire::JobLogPieces> read_log(const wire::ReadJobLog& request, const Patience& patience);

  door::Observer& node() { return node_; }

 private:
  template <typename Reply, typename Message>
  Result<Reply> ask(wire::ControlType type, const Message& message, const Patience& patience);
  template <typename Message>
  Result<std::string> ask_for_json(wire::ControlType type, const Message& message, const Patience& patience);

  door::Observer node_;
};

}  // namespace fray::client
