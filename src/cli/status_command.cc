#include "cli/status_command.h"

#include <chrono>
#include <cstdio>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/node_query.h"
#include "cli/status_text.h"
#include "node/session_folder.h"
#include "os/run_folder.h"

namespace fray::cli {

namespace {

constexpr std::chrono::seconds kPatience{5};

int exit_code_of(const Status& status) {
  if (status.code() == StatusCode::kTimedOut) return kExitTimedOut;
  if (status.code() == StatusCode::kInvalidArgument) return kExitFailed;
  return kExitUnreachable;
}

// The started node of this home; else the newest, and says which there are when there is a choice.
std::string choose_socket(const std::vector<node::SessionInfo>& sessions) {
  for (const node::SessionInfo& session : sessions) {
    if (session.folder == os::started_node_folder()) return session.socket;
  }
  if (sessions.size() > 1) {
    fmt::print(stderr, "{} nodes run; this is the newest. Name another by its socket:\n", sessions.size());
    for (const node::SessionInfo& session : sessions)
      fmt::print(stderr, "  {}  (pid {})\n", session.socket, session.process.pid);
  }
  return sessions.front().socket;
}

}  // namespace

int run_status(const StatusArguments& arguments) {
  if (Status checked = os::check_home(); !checked.is_ok()) {
    fmt::print(stderr, "fray status: {}\n", checked.message());
    return kExitFailed;
  }
  std::string socket = arguments.socket;
  if (socket.empty()) {
    std::vector<node::SessionInfo> sessions = node::find_sessions();
    if (sessions.empty()) {
      fmt::print(stderr,
                 "no node of this user runs (looked in {})\nhint: `fray start` starts one that stays; an embedded node lives as long as its program; "
                 "name a node by its socket with `fray status SOCKET`\n",
                 os::run_folder_path());
      return kExitUnreachable;
    }
    socket = choose_socket(sessions);
  }
  auto reply = ask_status(socket, kPatience);
  if (!reply.is_ok()) {
    fmt::print(stderr, "fray status: {}\n", reply.status().message());
    return exit_code_of(reply.status());
  }
  nlohmann::json report = nlohmann::json::parse(*reply, nullptr, false);
  if (!report.is_object()) {
    fmt::print(stderr, "fray status: the node at {} answered with something that is no JSON object\n", socket);
    return kExitFailed;
  }
  fmt::print("{}\n", arguments.json ? report.dump(2) : status_text(report));
  return kExitOk;
}

}  // namespace fray::cli
