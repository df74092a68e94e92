#include "door/start_node.h"

#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "os/process/spawn.h"
#include "os/sockets/socket_pair.h"

namespace fray::door {

namespace {

constexpr int kStarterFd = 3;  // the node's end of the pipe to its starter

Result<NodeStarter> start(std::vector<std::string> command, const os::Fd& end_of_node, int log_fd) {
  os::SpawnRequest request;
  request.command = std::move(command);
  request.environment = os::own_environment();
  request.fds = {{end_of_node.get(), kStarterFd}};
  request.standard_error = log_fd;
  FRAY_ASSIGN_OR_RETURN(pid_t pid, os::spawn(request));
  return NodeStarter(pid);
}

// Reads until the other end is closed.
Result<std::string> read_to_end(const os::Fd& pipe, const Patience& patience) {
  std::string text;
  while (true) {
    std::array<char, 4096> chunk;
    const ssize_t got = ::read(pipe.get(), chunk.data(), chunk.size());
    if (got > 0) text.append(chunk.data(), static_cast<std::size_t>(got));
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    if (got == 0) return text;
    if (errno != EAGAIN) return Status::io_error("the pipe to the node", errno);
    FRAY_RETURN_IF_ERROR(wait_for(pipe.get(), POLLIN, patience));
  }
}

}  // namespace

int NodeStarter::exit_code() {
  const pid_t pid = std::exchange(pid_, 0);
  int status = 0;
  pid_t reaped = 0;
  while (pid != 0 && (reaped = ::waitpid(pid, &status, 0)) < 0 && errno == EINTR) {
  }
  if (pid == 0 || reaped != pid) return 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<EmbeddedNode> start_embedded_node(const std::string& program, const std::string& options_json) {
  // Checked first: a descriptor that is opened here would get the number of a standard one that the program has closed.
  const bool has_log = ::fcntl(STDERR_FILENO, F_GETFD) >= 0;
  FRAY_ASSIGN_OR_RETURN(auto ends, os::make_socket_pair());
  EmbeddedNode node;
  FRAY_ASSIGN_OR_RETURN(node.starter, start({program, "node", "--embedded", "--client-fd", std::to_string(kStarterFd),
                                             "--log-fd", "2", "--options-json", options_json},
                                            ends.second, has_log ? STDERR_FILENO : -1));
  node.socket = std::move(ends.first);
  return node;
}

Result<nlohmann::json> start_lasting_node(const std::string& program, const std::vector<std::string>& arguments,
                                          const os::Fd& log, const Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(auto pipe, os::make_pipe());
  std::vector<std::string> command = {program, "node", "--ready-fd", std::to_string(kStarterFd), "--log-fd", "2"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  FRAY_ASSIGN_OR_RETURN(NodeStarter starter, start(std::move(command), pipe.second, log.get()));
  pipe.second.reset();
  starter.exit_code();
  FRAY_ASSIGN_OR_RETURN(std::string text, read_to_end(pipe.first, patience));
  nlohmann::json news = parse_json(text);
  if (!news.is_object()) return Status(StatusCode::kUnavailable, "the node ended before it was ready");
  if (auto error = news.find("error"); error != news.end() && error->is_string()) {
    return Status(StatusCode::kUnavailable, "the node cannot start: " + error->get<std::string>());
  }
  return news;
}

}  // namespace fray::door
