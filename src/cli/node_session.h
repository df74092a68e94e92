// NodeSession: the connection of a command to the node that it is meant for.
//
//   auto session = NodeSession::open(arguments.socket);
//   if (!session.is_ok()) return report_failure("ps", session.status());
//
// Threading:  one thread.
// Ownership:  owns the connections.
// Failure:    open() returns what door::find_node() returns. report_failure() turns a status into a message and an exit
//             code.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/jobs/job_client.h"

namespace fray::cli {

using NodeOption = std::optional<std::string>;

class NodeSession {
 public:
  // Connects to the node that door::find_node() finds, and names on standard error the other nodes that were there.
  static Result<std::unique_ptr<NodeSession>> open(const NodeOption& socket);
  // The same, but starts a node when this home has none.
  static Result<std::unique_ptr<NodeSession>> open_or_start(const NodeOption& socket);
  explicit NodeSession(std::string socket) : jobs_(std::move(socket)) {}

  client::JobClient& jobs() { return jobs_; }
  Result<std::string> status();  // the node's status document, as JSON
  const std::string& socket() { return jobs_.node().socket_path(); }

 private:
  client::JobClient jobs_;
};

// Prints what has failed and returns the exit code: one function for an answer of a node or a cluster, one for a
// mistake in the command line.
int report_failure(const std::string& command, const Status& status);
int report_usage(const std::string& command, const Status& status);

}  // namespace fray::cli
