// run_node(): the life of a node process, from its command line to its exit code.
//
// Embedded: the client starts the program and passes it one end of a socket pair as a descriptor. The program forks once
// more, so that the client reaps its child at once and is not the parent of the node. The node leaves the client's session
// and terminal, and serves that socket. Failures to start are reported on the socket (Refused) as well as in the log.
//
// Threading:  called once, by a process with one thread.
// Ownership:  closes all descriptors that it inherits, but for those that its options name.
// Failure:    returns the program's exit code: 0 when the node ended as it should, 1 when it could not start, 2 for wrong
//             options.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "event/loop.h"
#include "node/node_view.h"

namespace fray::node {

// Parts that use the node and end with it, such as its HTTP API.
struct Attachment {
  std::map<std::string, std::string> news;  // which the program that started the node gets
  std::shared_ptr<void> parts;              // destroyed before the loop
};

struct NodeArguments {
  bool embedded = false;
  bool foreground = false;  // no fork, no new session, the same standard output; SIGHUP ends the node
  bool until_eof = false;   // the node ends when its standard input does, a pipe from the program that started it
  int client_fd = -1;
  // The process that is a copy of the client and forks its workers, a child of this one; 0 where there is none. Then this
  // process is nobody's child already, descriptor 4 is the socket to that process and 5 the pipe of its output.
  int fork_server_pid = 0;
  int ready_fd = -1;  // gets one line of JSON: {"socket", "pid", news} once clients are accepted, or {"error", "code"}
  int log_fd = 2;
  std::function<void(const std::string& socket, const std::map<std::string, std::string>& news)>
      on_ready;                 // in the foreground
  bool attaches_always = true;  // false: only where the options ask for a dashboard
  // Called once clients are accepted.
  std::function<Result<Attachment>(event::Loop& loop, NodeView& node, const std::string& session_folder)> attach;
  std::string options_json = "{}";
  std::string release;
};

int run_node(const NodeArguments& arguments);

}  // namespace fray::node
