// Starts the node of this home in the background, for `fray start` and `fray submit`.
//
// The node is a process in a session of its own, and has no parent that waits for it. It writes its messages to
// logs/node.log in the home.
//
// Threading:  one thread; the call blocks until the node accepts clients.
// Ownership:  none.
// Failure:    kTimedOut with the path of the log; otherwise the reason that the node itself gives, and the end of the
//             log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "door/session_info.h"

namespace fray::cli {

// What a running node says of itself.
struct StartedNode {
  pid_t pid = 0;
  std::string socket;
  std::string log;  // empty: it has none
  std::string url;
  std::string token_file;
};

// `options` have the form that node::parse_options() reads. With `http_port` 0 the node takes any port that is free.
Result<StartedNode> start_in_background(const nlohmann::json& options, std::uint16_t http_port);
// Starts the node of this home and returns once it accepts clients. When several are started at once, one of them goes
// on.
std::optional<door::SessionInfo> running_node();
// Starts the node of this home with the default settings of `fray start`, and says so on standard error. When somebody
// else is starting that node at the same moment, it returns their node.
Result<door::SessionInfo> start_node_of_home();

}  // namespace fray::cli
