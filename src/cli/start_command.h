// `fray start`: starts the node of this home, which lives until `fray stop`.
//
// The node is a process of its own session that belongs to nobody; its messages go to logs/node.log in the home. The
// command answers when the node accepts clients.
//
// Threading:  one thread; blocks until the node is ready, or with `foreground` until it ends.
// Ownership:  none.
// Failure:    returns an exit code of cli/exit_codes.h and says on standard error what failed: kExitConflict with the
//             place of the node that runs already; kExitFailed with the end of the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "door/session_info.h"

namespace fray::cli {

struct StartArguments {
  std::optional<double> cpus;
  std::string memory;
  std::string store_memory;
  std::string spill_dir;
  std::string resources;
  std::optional<double> max_workers;
  std::uint16_t http_port = 0;  // 0: any that is free
  bool json = false;
  bool foreground = false;
};

int run_start(const StartArguments& arguments);
// Starts the node of this home with the settings that `fray start` has by itself, and says so on standard error; or
// returns the one that somebody else starts at this moment.
Result<door::SessionInfo> start_node_of_home();

}  // namespace fray::cli
