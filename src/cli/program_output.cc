#include "cli/program_output.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/process/spawn.h"

namespace fray::cli {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostBytes = 64u << 20;

struct Pipe {
  os::Fd read;
  os::Fd write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Status::io_error("pipe2", errno);
  return Pipe{os::Fd(ends[0]), os::Fd(ends[1])};
}

std::vector<std::pair<std::string, std::string>> this_environment() {
  std::vector<std::pair<std::string, std::string>> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string text = *entry;
    if (std::size_t equals = text.find('='); equals != std::string::npos) {
      result.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return result;
}

// True when `fd` is at its end.
bool read_some(const os::Fd& fd, std::string* out) {
  char buffer[64 << 10];
  ssize_t got = ::read(fd.get(), buffer, sizeof(buffer));
  if (got < 0) return errno != EINTR && errno != EAGAIN;
  if (out->size() < kMostBytes) out->append(buffer, static_cast<std::size_t>(got));
  return got == 0;
}

// Reads both descriptors to their ends. False when the time is over before that.
bool read_all(Pipe& out, Pipe& err, Clock::time_point deadline, std::string* out_text, std::string* err_text) {
  while (out.read.is_open() || err.read.is_open()) {
    pollfd set[] = {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}};
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    if (::poll(set, 2, static_cast<int>(left)) < 0 && errno != EINTR) return false;
    if (set[0].revents != 0 && read_some(out.read, out_text)) out.read.reset();
    if (set[1].revents != 0 && read_some(err.read, err_text)) err.read.reset();
  }
  return true;
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::size_t start = text.rfind('\n');
  return start == std::string::npos ? text : text.substr(start + 1);
}

}  // namespace

Result<std::string> program_output(const std::vector<std::string>& command, std::chrono::milliseconds patience) {
  FRAY_ASSIGN_OR_RETURN(Pipe out, make_pipe());
  FRAY_ASSIGN_OR_RETURN(Pipe err, make_pipe());
  os::SpawnRequest request;
  request.command = command;
  request.environment = this_environment();
  request.standard_output = out.write.get();
  request.standard_error = err.write.get();
  FRAY_ASSIGN_OR_RETURN(pid_t pid, os::spawn(request));
  out.write.reset();
  err.write.reset();
  std::string out_text;
  std::string err_text;
  bool complete = read_all(out, err, Clock::now() + patience, &out_text, &err_text);
  if (!complete) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!complete) return Status(StatusCode::kTimedOut, fmt::format("{} took too long", command.front()));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return out_text;
  return Status(StatusCode::kInvalidArgument, last_line(err_text));
}

}  // namespace fray::cli
