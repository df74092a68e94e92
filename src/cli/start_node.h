// Starting the node of this home in the background: what `fray start` and `fray submit` do.
//
// The node is a process of its own session that belongs to nobody; its messages go to logs/node.log in the home.
//
// Threading:  one thread; blocks until the node accepts clients.
// Ownership:  none.
// Failure:    kTimedOut with the place of the log; else the node's own words and the end of the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "door/session_info.h"

namespace fray::cli {

// What a node says of itself once it runs.
struct StartedNode {
  pid_t pid = 0;
  std::string socket;
  std::string log;  // empty: it has none
  std::string url;
  std::string token_file;
};

// `options` as node::parse_options() reads them; `http_port` 0: any that is free.
Result<StartedNode> start_in_background(const nlohmann::json& options, std::uint16_t http_port);
// The node of this home, once it accepts clients: of several that are started at once one goes on.
std::optional<door::SessionInfo> running_node();
// Starts the node of this home with the settings that `fray start` has by itself, and says so on standard error; or
// returns the one that somebody else starts at this moment.
Result<door::SessionInfo> start_node_of_home();

}  // namespace fray::cli
