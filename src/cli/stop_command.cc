// `fray stop`: ends the started node of this home, and every process below it.
//
// It works with a node of any release, because it asks the kernel which process listens at the socket, and ends that
// process with a signal.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "base/log_line.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "door/session_info.h"
#include "node/sessions/session_folder.h"
#include "os/files/run_folder.h"
#include "os/process/child_processes.h"
#include "os/process/pidfd.h"
#include "os/sockets/listener.h"
#include "os/sockets/peer.h"

namespace fray::cli {

namespace {

struct StopArguments {
  bool force = false;  // send SIGKILL to all processes at once
};

constexpr std::chrono::seconds kStopPatience{15};

int stop_failed(const std::string& what, int code) {
  log_line("fray stop: {}\n", what);
  return code;
}

struct Target {
  pid_t pid = 0;
  os::Fd pidfd;
};

// The process that listens at the socket, as the kernel says. When it accepts no connection: the process that node.json
// names by its number and start time.
Result<Target> find_process(const door::SessionInfo& session) {
  if (auto socket = os::connect_to(session.socket); socket.is_ok()) {
    auto peer = os::peer_of(socket->get());
    if (peer.is_ok() && peer->alive && peer->pid > 0 && peer->uid == ::getuid()) {
      return Target{peer->pid, std::move(peer->pidfd)};
    }
  }
  FRAY_ASSIGN_OR_RETURN(os::Fd pidfd, os::open_pidfd(session.process.pid));
  // The start time is compared after the descriptor was opened. So either the descriptor is that of the right process,
  // or the times differ.
  if (!session.process.exists()) {
    return Status(StatusCode::kNotFound, fmt::format("process {} is another one by now", session.process.pid));
  }
  return Target{session.process.pid, std::move(pidfd)};
}

bool ends(const os::Fd& pidfd) {
  const auto deadline = std::chrono::steady_clock::now() + kStopPatience;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd watched{pidfd.get(), POLLIN, 0};
    if (::poll(&watched, 1, static_cast<int>(left.count())) > 0) return true;
  }
}

int run_stop(const StopArguments& arguments) {
  if (Status checked = os::check_home(); !checked.is_ok()) return stop_failed(checked.message(), kExitFailed);
  const std::string folder = os::started_node_folder();
  auto session = door::find_session(folder);
  if (!session) {
    node::remove_stale_sessions(os::run_folder_path());
    return stop_failed(
        fmt::format("no node of this home runs (looked at {})\nhint: `fray start` starts one; FRAY_HOME names "
                    "another home; an embedded node ends with its program",
                    folder),
        kExitUnreachable);
  }
  auto target = find_process(*session);
  if (!target.is_ok()) {
    return stop_failed("the node cannot be found: " + target.status().message(), kExitFailed);
  }
  if (arguments.force) {
    os::kill_stopped_tree(target->pid);
  } else if (Status sent = os::send_signal(target->pidfd, SIGTERM);
             !sent.is_ok() && sent.code() != StatusCode::kNotFound) {
    return stop_failed(sent.message(), kExitFailed);
  }
  if (!ends(target->pidfd)) {
    return stop_failed(fmt::format("the node (pid {}) does not end within {} s\nhint: `fray stop --force` kills it",
                                   target->pid, kStopPatience.count()),
                       kExitTimedOut);
  }
  node::remove_stale_sessions(os::run_folder_path());  // a node that was killed leaves its folder behind
  fmt::print("stopped the node (pid {})\n", target->pid);
  return kExitOk;
}

Command::Run add_stop(CLI::App& command) {
  auto arguments = std::make_shared<StopArguments>();
  command.add_flag("--force", arguments->force, "Kill at once, also a node that does not listen");
  return [arguments] { return run_stop(*arguments); };
}

const Command kStop("stop", "End the started node of this home and everything below it", add_stop);

}  // namespace

}  // namespace fray::cli
