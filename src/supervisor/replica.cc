#include "supervisor/replica.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/process/close_range.h"
#include "os/process/spawn.h"
#include "os/sockets/socket_pair.h"
#include "supervisor/log_files.h"

namespace fray::supervisor {

namespace {

constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;
constexpr int kPipeBytes = 256 << 10;
constexpr std::size_t kChunk = 256u << 10;
constexpr int kMostChunks = 4;  // chunks that are read from one stream before others get their turn

[[noreturn]] void give_up(int code, const std::string& why) {
  const std::string line = "fray: " + why + "\n";
  [[maybe_unused]] ssize_t written = ::write(2, line.data(), line.size());
  ::_exit(code);
}

void join(const std::string& file) {
  os::Fd opened(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!opened.is_open() || ::write(opened.get(), "0", 1) != 1) {
    give_up(kCannotRun, fmt::format("cannot join {}: {}", file, std::strerror(errno)));
  }
}

void lower_limit(int resource, std::uint64_t most) {
  rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  if (::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) {
    give_up(kCannotRun, fmt::format("cannot set a limit: {}", std::strerror(errno)));
  }
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

Replica::Replica(std::uint32_t number, int folder_fd, const Order& order)
    : number_(number),
      logs_{LogWriter(folder_fd, stream_name(number, 1), order.log),
            LogWriter(folder_fd, stream_name(number, 2), order.log)} {}

Status Replica::start(const Order& order, const os::LimitPlan& limits, std::vector<std::string> environment) {
  FRAY_ASSIGN_OR_RETURN(auto out, os::make_pipe());
  FRAY_ASSIGN_OR_RETURN(auto err, os::make_pipe());
  for (const auto* pipe : {&out, &err}) ::fcntl(pipe->second.get(), F_SETPIPE_SZ, kPipeBytes);  // best effort
  const pid_t parent = ::getpid();
  pid_ = FRAY_FAULT("replica_fork", EAGAIN) ? -1 : ::fork();
  if (pid_ < 0) return Status::io_error("cannot make a process", errno);
  if (pid_ == 0) {
    if (!os::end_with(parent, SIGKILL)) ::_exit(kCannotRun);
    become(order, limits, environment, out.second.get(), err.second.get());
  }
  pipes_ = {std::move(out.first), std::move(err.first)};
  return Status::ok();
}

void Replica::become(const Order& order, const os::LimitPlan& limits, std::vector<std::string>& environment, int out,
                     int err) {
  ::setsid();
  reset_signals();
  // Copies with higher numbers, so that no dup2 overwrites a descriptor that is still needed.
  const int high_out = ::fcntl(out, F_DUPFD, 3);
  const int high_err = ::fcntl(err, F_DUPFD, 3);
  os::Fd null(::open("/dev/null", O_RDONLY));
  ::dup2(high_err, 2);
  ::dup2(high_out, 1);
  if (null.get() != 0) ::dup2(null.release(), 0);
  os::close_from(3);
  for (const std::string& file : limits.joins()) join(file);
  for (const auto& [resource, most] : limits.rlimits) lower_limit(resource, most);
  if (::chdir(order.folder.c_str()) != 0) {
    give_up(kCannotRun, fmt::format("cannot enter the folder {}: {}", order.folder, std::strerror(errno)));
  }
  std::vector<std::string> command = order.command;
  std::vector<char*> variables = os::exec_pointers(environment);
  ::environ = variables.data();  // execvp() searches for the command in the PATH of the job
  ::execvp(command[0].c_str(), os::exec_pointers(command).data());
  if (errno == ENOENT) give_up(kNotFound, fmt::format("{}: command not found", command[0]));
  give_up(kCannotRun, fmt::format("cannot run {}: {}", command[0], std::strerror(errno)));
}

void Replica::ended(const os::Ended& end) {
  ended_ = true;
  if (WIFSIGNALED(end.wait_status)) {
    report_.signal = WTERMSIG(end.wait_status);
  } else {
    report_.exit_code = WEXITSTATUS(end.wait_status);
  }
  report_.peak_memory_bytes = static_cast<std::uint64_t>(end.peak_memory_kib) * 1024;
}

bool Replica::read(int index) {
  const auto which = static_cast<std::size_t>(index);
  std::array<char, kChunk> chunk;
  for (int i = 0; i < kMostChunks; ++i) {
    const ssize_t got = ::read(pipes_.at(which).get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    logs_.at(which).write({chunk.data(), static_cast<std::size_t>(got)});
  }
  return true;
}

void Replica::close_logs() {
  for (LogWriter& log : logs_) log.close();
}

ReplicaReport Replica::report() const {
  ReplicaReport report = report_;
  report.out_bytes = logs_[0].offset();
  report.err_bytes = logs_[1].offset();
  return report;
}

}  // namespace fray::supervisor
