// `fray debug`: connects this terminal to a task that waits at breakpoint().
//
// A worker whose task waits at a breakpoint listens on <session folder>/debug-<driver>-<worker>.sock. The first client
// that connects talks to its pdb.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "base/log_line.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/node_session.h"
#include "cli/options.h"
#include "os/sockets/listener.h"

namespace fray::cli {

namespace {

struct DebugArguments {
  NodeOption socket;
};

namespace fs = std::filesystem;

// The sockets of waiting tasks; the task that has waited longest comes first.
std::vector<fs::path> waiting_tasks(const fs::path& session_folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  for (fs::directory_iterator entry(session_folder, error), end; !error && entry != end; entry.increment(error)) {
    std::string name = entry->path().filename().string();
    std::error_code gone;
    auto time = fs::last_write_time(entry->path(), gone);
    if (!gone && name.starts_with("debug-") && name.ends_with(".sock")) found.emplace_back(time, entry->path());
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  for (auto& [time, path] : found) paths.push_back(std::move(path));
  return paths;
}

bool write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    ssize_t sent = ::write(fd, data, size);
    if (sent < 0 && errno == EAGAIN) {
      pollfd room{fd, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (sent < 0 && errno != EINTR) return false;
    if (sent < 0) continue;
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

// Copies what can be read from `from` at once to `to`. False when `from` is at its end, or `to` accepts nothing any
// more.
bool carry(int from, int to) {
  char buffer[16 << 10];
  ssize_t got = ::read(from, buffer, sizeof(buffer));
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  return got > 0 && write_all(to, buffer, static_cast<std::size_t>(got));
}

void relay(int socket) {
  pollfd set[] = {{socket, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
  while (::poll(set, 2, -1) > 0 || errno == EINTR) {
    if (set[0].revents != 0 && !carry(socket, STDOUT_FILENO)) return;
    if (set[1].revents != 0 && !carry(STDIN_FILENO, socket)) {
      ::shutdown(socket, SHUT_WR);  // pdb lets the task go on
      set[1].fd = -1;
    }
  }
}

int run_debug(const DebugArguments& arguments) {
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("debug", session.status());
  const std::string& node = (*session)->socket();
  fs::path folder = fs::path(node).parent_path();
  if (folder.empty()) folder = ".";
  std::vector<fs::path> waiting = waiting_tasks(folder);
  // Relative to the folder the paths are short enough for the address of a socket.
  if (::chdir(folder.c_str()) != 0) waiting.clear();
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    auto socket = os::connect_to(waiting[i].filename().string());
    if (!socket.is_ok()) continue;  // somebody else was faster, or the worker is gone
    relay(socket->get());
    if (i + 1 < waiting.size()) {
      log_line("{} more tasks wait; run `fray debug` again\n", waiting.size() - i - 1);
    }
    return kExitOk;
  }
  log_line(
      "fray debug: no task of the node at {} waits at breakpoint()\n"
      "hint: tasks stop there under fray.init(debug=True) or `fray run --debug`\n",
      node);
  return kExitNotFound;
}

Command::Run add_debug(CLI::App& command) {
  auto arguments = std::make_shared<DebugArguments>();
  add_node_option(command, arguments->socket, true);
  return [arguments] { return run_debug(*arguments); };
}

const Command kDebug("debug", "Talk to the task that waits longest at breakpoint()", add_debug);

}  // namespace

}  // namespace fray::cli
