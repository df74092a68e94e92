#include "cli/node_choice.h"

#include <vector>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "node/session_folder.h"
#include "os/run_folder.h"

namespace fray::cli {

std::string choose_node(const std::string& command, const std::string& asked) {
  if (!asked.empty()) return asked;
  std::vector<node::SessionInfo> sessions = node::find_sessions();
  if (sessions.empty()) {
    fmt::print(stderr,
               "no node of this user runs (looked in {})\nhint: `fray start` starts one that stays; an embedded node "
               "lives as long as its program; "
               "name a node by its socket with `fray {} SOCKET`\n",
               os::run_folder_path(), command);
    return {};
  }
  for (const node::SessionInfo& session : sessions) {
    if (session.folder == os::started_node_folder()) return session.socket;
  }
  if (sessions.size() > 1) {
    fmt::print(stderr, "{} nodes run; this is the newest. Name another by its socket:\n", sessions.size());
    for (const node::SessionInfo& session : sessions) {
      fmt::print(stderr, "  {}  (pid {})\n", session.socket, session.process.pid);
    }
  }
  return sessions.front().socket;
}

int exit_code_of(const Status& status) {
  if (status.code() == StatusCode::kTimedOut) return kExitTimedOut;
  if (status.code() == StatusCode::kInvalidArgument) return kExitFailed;
  return kExitUnreachable;
}

}  // namespace fray::cli
