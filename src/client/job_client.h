// JobClient: asks a node about jobs: submit, list, wait, stop, read output. What the command line and Python use.
//
//   JobClient jobs(socket_path);
//   FRAY_ASSIGN_OR_RETURN(std::string json, jobs.submit(spec, hooks));
//
// Threading:  any thread. A call has a connection for itself while it waits; idle connections are kept for the next call.
// Ownership:  owns its connections. The node forgets what a call asked for when its connection closes.
// Failure:    the node's own answers, with their codes; kUnavailable when nobody answers at the socket, or the node went
//             away; kTimedOut at the deadline; kCancelled when the hooks say so.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/thread_annotations.h"
#include "model/job_spec.h"
#include "wire/job.h"
#include "wire/socket.h"

namespace fray::client {

class JobClient {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  // Asked after each signal, and now and then: whether to give up.
  using Interrupted = std::function<bool()>;

  JobClient(std::string socket_path, std::string release)
      : socket_path_(std::move(socket_path)), release_(std::move(release)) {}

  // Each returns JSON: a job, or an array of them.
  Result<std::string> submit(JobSpec spec);
  Result<std::string> get(std::vector<std::string> ids);
  Result<std::string> wait(std::vector<std::string> ids, Deadline deadline, const Interrupted& interrupted);
  Result<std::string> stop(std::vector<std::string> ids);
  Result<std::string> remove(std::vector<std::string> ids);

  Result<wire::JobLogOpened> open_log(const wire::OpenJobLog& request);
  Result<wire::JobLogPieces> read_log(const wire::ReadJobLog& request, Deadline deadline,
                                      const Interrupted& interrupted);

  const std::string& socket_path() const { return socket_path_; }

 private:
  template <typename Message>
  Result<std::string> ask(wire::ControlType type, const Message& message, wire::ControlType answer, Deadline deadline,
                          const Interrupted& interrupted);
  template <typename Message>
  Result<std::string> ask_for_json(wire::ControlType type, const Message& message, Deadline deadline = {},
                                   const Interrupted& interrupted = {});
  Result<wire::FrameSocket> connection();
  Result<wire::FrameSocket> connect() const;
  static Result<std::string> await(wire::FrameSocket& socket, wire::ControlType answer, Deadline deadline,
                                   const Interrupted& interrupted);

  const std::string socket_path_;
  const std::string release_;
  Mutex mutex_;
  std::vector<wire::FrameSocket> idle_ FRAY_GUARDED_BY(mutex_);
};

}  // namespace fray::client
