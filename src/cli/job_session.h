// JobSession: a command's connection to the node whose jobs it is about, and its way of waiting: Ctrl-C ends the wait.
//
// Threading:  one thread.
// Ownership:  owns the JobClient; the signal handler is the program's.
// Failure:    open() says on standard error that no node runs. failed() turns a Status into words and an exit code.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/job_client.h"

namespace fray::cli {

class JobSession {
 public:
  // `command`: for messages, such as "job list". Nothing when there is no node.
  static std::unique_ptr<JobSession> open(const std::string& command, const std::string& socket,
                                          bool start_node = false);

  client::JobClient& jobs() { return jobs_; }
  // Whether SIGINT came, from the first call on.
  static bool interrupted();
  int failed(const Status& status) const;
  // What the user can do after Ctrl-C.
  int detached(const std::string& id) const;

 private:
  JobSession(std::string command, std::string socket)
      : command_(std::move(command)), jobs_(std::move(socket), FRAY_VERSION) {}

  std::string command_;
  client::JobClient jobs_;
};

// "90", "30s", "10m", "2h", "1d" in seconds.
Result<double> parse_span(const std::string& option, const std::string& text);

}  // namespace fray::cli
