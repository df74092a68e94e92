#include "runtime_env/build_watch.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/process/child_processes.h"
#include "os/process/spawn.h"
#include "os/sockets/socket_pair.h"

namespace fray::runtime_env {

namespace {

constexpr std::size_t kMostOutput = 1u << 20;

class LineReader {
 public:
  LineReader(ProgramEnd& end, const std::function<void(const std::string&)>& on_line) : end_(end), on_line_(on_line) {}

  // False at the end.
  bool read(const os::Fd& pipe) {
    std::array<char, 16384> chunk;
    const ssize_t got = ::read(pipe.get(), chunk.data(), chunk.size());
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    take({chunk.data(), static_cast<std::size_t>(got)});
    return got > 0;
  }

 private:
  void take(std::string_view text) {
    end_.output += text;
    if (end_.output.size() > kMostOutput) end_.output.erase(0, end_.output.size() - kMostOutput);
    if (!on_line_) return;
    line_ += text;
    for (std::size_t stop = line_.find('\n'); stop != std::string::npos; stop = line_.find('\n')) {
      on_line_(line_.substr(0, stop));
      line_.erase(0, stop + 1);
    }
    if (line_.size() > kMostOutput) line_.clear();
  }

  ProgramEnd& end_;
  const std::function<void(const std::string&)>& on_line_;
  std::string line_;
};

bool hung_up(const pollfd& watched) { return (watched.revents & (POLLHUP | POLLERR | POLLNVAL | POLLRDHUP)) != 0; }

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Status BuildWatch::still_wanted() const {
  if (lifeline_fd < 0) return Status::ok();
  pollfd watched{lifeline_fd, POLLRDHUP, 0};
  if (::poll(&watched, 1, 0) > 0 && hung_up(watched)) {
    return Status(StatusCode::kCancelled, "nobody wants the environment any more");
  }
  return Status::ok();
}

Result<ProgramEnd> run_program(const Program& program, const BuildWatch& watch,
                               const std::function<void(const std::string& line)>& on_line) {
  FRAY_RETURN_IF_ERROR(watch.still_wanted());
  FRAY_ASSIGN_OR_RETURN(auto pipe, os::make_pipe());
  os::SpawnRequest request;
  request.command = program.command;
  request.environment = program.environment;
  request.folder = program.folder;
  request.standard_output = pipe.second.get();
  request.standard_error = pipe.second.get();
  FRAY_ASSIGN_OR_RETURN(const pid_t pid, os::spawn(request));
  pipe.second.reset();
  ProgramEnd end;
  LineReader reader(end, on_line);
  while (true) {
    pollfd watched[] = {{pipe.first.get(), POLLIN, 0}, {watch.lifeline_fd, POLLRDHUP, 0}};
    if (::poll(watched, watch.lifeline_fd < 0 ? 1 : 2, -1) < 0 && errno != EINTR) break;
    if (watch.lifeline_fd >= 0 && hung_up(watched[1])) {
      os::kill_stopped_tree(pid);
      wait_for(pid);
      return Status(StatusCode::kCancelled, "nobody wants the environment any more");
    }
    if (watched[0].revents != 0 && !reader.read(pipe.first)) break;
  }
  end.exit_code = wait_for(pid);
  return end;
}

Variables own_environment() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::string find_program(const std::string& name, const std::vector<std::string>& folders,
                         const Variables& environment) {
  std::vector<std::string> places = folders;
  for (const auto& [variable, value] : environment) {
    if (variable != "PATH") continue;
    std::istringstream list(value);
    for (std::string folder; std::getline(list, folder, ':');) places.push_back(folder);
  }
  for (const std::string& folder : places) {
    if (folder.empty() || folder.front() != '/') continue;
    const std::string path = folder + "/" + name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace fray::runtime_env
