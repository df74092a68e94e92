// NodeSession: a command's connection to the node that it is about.
//
//   auto session = NodeSession::open(arguments.socket);
//   if (!session.is_ok()) return report_failure("ps", session.status());
//
// Threading:  one thread.
// Ownership:  owns the connections.
// Failure:    open() as door::find_node(). report_failure() turns a status into words and an exit code.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/job_client.h"

namespace fray::cli {

using NodeOption = std::optional<std::string>;

class NodeSession {
 public:
  // Which node is meant says door::find_node(); which others there were is said on standard error.
  static Result<std::unique_ptr<NodeSession>> open(const NodeOption& socket);
  // The same, but where this home has no node, one is started.
  static Result<std::unique_ptr<NodeSession>> open_or_start(const NodeOption& socket);
  explicit NodeSession(std::string socket) : jobs_(std::move(socket)) {}

  client::JobClient& jobs() { return jobs_; }
  Result<std::string> status();  // the node's JSON
  const std::string& socket() { return jobs_.node().socket_path(); }

 private:
  client::JobClient jobs_;
};

// Says what failed, and returns the exit code: of what a node or a cluster answers, and of what was typed.
int report_failure(const std::string& command, const Status& status);
int report_usage(const std::string& command, const Status& status);

}  // namespace fray::cli
