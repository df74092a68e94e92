#include "supervisor/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/log_line.h"
#include "model/json_text.h"
#include "os/clock.h"
#include "os/files/whole_file.h"
#include "os/process/child_processes.h"
#include "os/process/process_name.h"

namespace fray::supervisor {

namespace {

constexpr std::chrono::seconds kKillLimit{10};
constexpr timespec kReportPause{1, 0};

std::vector<std::string> variables_in(const std::string& file) {
  std::vector<std::string> variables;
  for (std::size_t at = 0; at < file.size();) {
    std::size_t end = file.find('\0', at);
    if (end == std::string::npos) end = file.size();
    variables.push_back(file.substr(at, end - at));
    at = end + 1;
  }
  return variables;
}

void signal_tree(pid_t root, int signal) {
  for (pid_t child : os::children_of(root)) {
    signal_tree(child, signal);
    ::kill(child, signal);
  }
}

}  // namespace

int Supervisor::run() {
  bool alone = false;
  Status ready = take_lock(&alone);
  if (ready.is_ok() && !alone) return kExitNotAlone;
  if (ready.is_ok()) ready = arrange();
  if (ready.is_ok()) ready = start_replicas();
  if (!ready.is_ok()) {
    kill_now();
    return report(ready.message());
  }
  loop_->run();
  finish();
  return report("");
}

// `alone`: whether this supervisor has the lock and the attempt has no exit report; an attempt with one has ended, and
// does not run again.
Status Supervisor::take_lock(bool* alone) {
  lock_ = os::Fd(::open((folder_ + kLockName).c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock_.is_open()) return Status::io_error("cannot create the lock in " + folder_, errno);
  *alone = ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 && ::access((folder_ + kExitName).c_str(), F_OK) != 0;
  return Status::ok();
}

Status Supervisor::arrange() {
  FRAY_ASSIGN_OR_RETURN(order_, Order::read(folder_ + kOrderName));
  FRAY_RETURN_IF_ERROR(ExitReport::reserve(folder_, order_.replicas));
  folder_fd_ = os::Fd(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_fd_.is_open()) return Status::io_error("cannot open " + folder_, errno);
  FRAY_RETURN_IF_ERROR(os::become_subreaper());
  sigset_t handled;
  sigemptyset(&handled);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, signal);
  ::sigprocmask(SIG_SETMASK, &handled, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = os::Fd(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.is_open()) return Status::io_error("signalfd", errno);
  FRAY_ASSIGN_OR_RETURN(loop_, event::Loop::create());
  FRAY_RETURN_IF_ERROR(loop_->add(signals_.get(), EPOLLIN, [this](std::uint32_t) { handle_signals(); }));
  if (order_.dies_with != 0 && !os::end_with(order_.dies_with, SIGHUP)) {
    return Status(StatusCode::kUnavailable, "the node is gone");
  }
  return introduce();
}

Status Supervisor::introduce() {
  const os::ProcessName self = os::ProcessName::of(::getpid());
  const nlohmann::json document = {{"pid", self.pid}, {"started_ticks", self.started}};
  FRAY_RETURN_IF_ERROR(os::write_file(folder_ + kSupervisorName, json_text(document), os::Durability::kSynced));
  return os::sync_folder(folder_);
}

Status Supervisor::start_replicas() {
  FRAY_ASSIGN_OR_RETURN(std::string file, os::read_file(order_.environment_file));
  const std::vector<std::string> variables = variables_in(file);
  limits_ = JobLimits::set_up(order_, folder_);
  if (!limits_->trouble().empty()) log_line("{}\n", limits_->trouble());
  for (std::uint32_t number = 0; number < order_.replicas; ++number) {
    FRAY_RETURN_IF_ERROR(start_replica(number, variables));
  }
  return Status::ok();
}

Status Supervisor::start_replica(std::uint32_t number, const std::vector<std::string>& variables) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : order_.variables) environment.push_back(name + "=" + value);
  environment.push_back(fmt::format("FRAY_REPLICA_ID={}", number));
  environment.push_back(fmt::format("FRAY_REPLICA_COUNT={}", order_.replicas));
  environment.push_back(fmt::format("FRAY_JOB_ERROR_FILE={}{}", folder_, error_name(number)));
  const std::size_t own = environment.size();
  for (const std::string& variable : variables) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    const auto last = environment.begin() + static_cast<std::ptrdiff_t>(own);
    if (std::none_of(environment.begin(), last, [&](const std::string& mine) { return mine.starts_with(name); })) {
      environment.push_back(variable);
    }
  }
  // Python buffers output to a pipe: without this variable, readers of the log would see nothing for minutes.
  const bool chosen = std::any_of(environment.begin(), environment.end(), [](const std::string& variable) {
    return variable.starts_with("PYTHONUNBUFFERED=");
  });
  if (!chosen) environment.push_back("PYTHONUNBUFFERED=1");
  replicas_.push_back(std::make_unique<Replica>(number, folder_fd_.get(), order_));
  FRAY_RETURN_IF_ERROR(replicas_.back()->start(order_, limits_->plan(), std::move(environment)));
  for (int index : {0, 1}) watch_output(*replicas_.back(), index);
  return Status::ok();
}

void Supervisor::watch_output(Replica& replica, int index) {
  const int fd = replica.fd(index);
  Status added = loop_->add(fd, EPOLLIN, [this, &replica, index, fd](std::uint32_t) {
    if (!replica.read(index)) loop_->remove(fd);
  });
  if (!added.is_ok()) log_line("{}\n", added.message());  // not fatal: report() reads the rest of the pipe
}

void Supervisor::handle_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) stop();
    if (info.ssi_signo == SIGHUP) {
      lost_parent_ = order_.dies_with != 0 && ::getppid() != order_.dies_with;
      kill_now();
    }
  }
  reap();
}

void Supervisor::reap() {
  while (auto end = os::reap_one()) note_end(*end);
  const bool none_left =
      std::none_of(replicas_.begin(), replicas_.end(), [](const auto& each) { return each->is_running(); });
  if (none_left) return loop_->stop();
  const bool one_failed = std::any_of(replicas_.begin(), replicas_.end(), [](const auto& each) {
    const ReplicaReport report = each->report();
    return !each->is_running() && (report.exit_code != 0 || report.signal != 0);
  });
  if (one_failed) stop();
}

void Supervisor::note_end(const os::Ended& end) {
  for (const auto& replica : replicas_) {
    if (replica->pid() == end.pid && replica->is_running()) replica->ended(end);
  }
}

void Supervisor::stop() {
  if (stopping_) return;
  stopping_ = true;
  for (const auto& replica : replicas_) {
    replica->asked_to_end();
    if (replica->is_running()) ::kill(-replica->pid(), SIGINT);
  }
  const auto grace =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(order_.grace_seconds));
  loop_->after(grace / 2, [] { signal_tree(::getpid(), SIGTERM); });
  loop_->after(grace, [this] { kill_now(); });
}

void Supervisor::kill_now() {
  for (const auto& replica : replicas_) replica->asked_to_end();
  if (limits_) limits_->kill();
  Status killed = os::kill_all_descendants(kKillLimit, [this](const os::Ended& end) { note_end(end); });
  if (!killed.is_ok()) log_line("{}\n", killed.message());
  if (loop_) loop_->stop();
}

// Kills the processes that the replicas have left behind, so that no process can write into the pipes any more.
void Supervisor::finish() {
  Status killed = os::kill_all_descendants(kKillLimit, [this](const os::Ended& end) { note_end(end); });
  if (!killed.is_ok()) log_line("{}\n", killed.message());
}

int Supervisor::report(std::string not_started) {
  ExitReport report;
  report.not_started = std::move(not_started);
  report.lost_parent = lost_parent_;
  for (const auto& replica : replicas_) {
    for (int index : {0, 1}) {
      std::uint64_t before = 0;
      do {
        before = replica->report().out_bytes + replica->report().err_bytes;
      } while (replica->fd(index) >= 0 && replica->read(index) &&
               replica->report().out_bytes + replica->report().err_bytes != before);
    }
    replica->close_logs();
    report.replicas.push_back(replica->report());
    if (limits_) report.replicas.back().memory = limits_->verdict(report.replicas.back());
  }
  if (limits_) limits_->end(folder_);
  report.ended_unix_ns = os::unix_ns();
  if (!report.not_started.empty()) log_line("{}\n", report.not_started);
  while (true) {
    Status written = report.write(folder_);
    if (written.is_ok()) return kExitDone;
    log_line("{}\n", written.message());
    if (::access(folder_.c_str(), F_OK) != 0) return kExitFailed;  // the job was removed
    ::nanosleep(&kReportPause, nullptr);
  }
}

}  // namespace fray::supervisor
