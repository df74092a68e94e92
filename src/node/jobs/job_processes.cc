#include "node/jobs/job_processes.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "os/files/whole_file.h"
#include "os/process/pidfd.h"
#include "os/process/process_facts.h"
#include "os/process/process_name.h"
#include "supervisor/exit_report.h"
#include "supervisor/job_limits.h"

namespace fray::node {

namespace {

constexpr int kLooks = 200;                   // checks for the name of a supervisor that has just started,
constexpr timespec kLockPause{0, 5'000'000};  // one check every 5 ms
constexpr std::size_t kLongestError = 4096;

bool is_locked(const std::string& folder) {
  os::Fd lock(::open((folder + supervisor::kLockName).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  return lock.is_open() && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

os::ProcessName name_in(const std::string& folder) {
  auto text = os::read_file(folder + supervisor::kSupervisorName);
  if (!text.is_ok()) return {};
  const nlohmann::json document = parse_json(*text);
  if (!document.is_object()) return {};
  return {document.value("pid", 0), document.value("started_ticks", std::uint64_t{0})};
}

// The program's own message about its failure: the first line, cut to a readable length.
std::string error_text(const std::string& folder, std::uint32_t replica) {
  auto text = os::read_file(folder + supervisor::error_name(replica));
  if (!text.is_ok()) return "";
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return text->substr(0, kLongestError);
}

}  // namespace

std::string supervisor_program() { return os::program_beside(::getpid(), "fray-supervisor"); }

JobProcesses::~JobProcesses() {
  for (const auto& [job, running] : running_) loop_.remove(running.pidfd.get());
}

Status JobProcesses::start(const std::string& job_folder, const supervisor::Order& order) {
  const std::string folder = supervisor::attempt_folder(job_folder, order.attempt);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return Status::io_error("cannot create " + folder, errno);
  FRAY_RETURN_IF_ERROR(order.write(folder + supervisor::kOrderName));
  os::Fd log(
      ::open((folder + "/supervisor.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  os::SpawnRequest request;
  request.command = {supervisor_program(), folder};
  request.environment = os::own_environment();
  request.standard_error = log.is_open() ? log.get() : -1;
  FRAY_ASSIGN_OR_RETURN(pid_t pid, spawner_.spawn(request));
  auto pidfd = os::open_pidfd(pid);
  Status watched =
      pidfd.is_ok() ? watch(order.job, order.attempt, folder, pid, std::move(pidfd).value()) : pidfd.status();
  if (!watched.is_ok()) ::kill(pid, SIGKILL);  // its replicas end with it
  return watched;
}

Status JobProcesses::watch(const std::string& job, std::uint32_t attempt, std::string folder, pid_t pid, os::Fd pidfd) {
  FRAY_RETURN_IF_ERROR(loop_.add(pidfd.get(), EPOLLIN, [this, job](std::uint32_t) { ended(job); }));
  running_.insert_or_assign(job, Running{attempt, std::move(folder), pid, std::move(pidfd)});
  return Status::ok();
}

void JobProcesses::ended(const std::string& job) {
  auto found = running_.find(job);
  if (found == running_.end()) return;
  loop_.remove(found->second.pidfd.get());
  const Running over = std::move(found->second);
  running_.erase(found);
  // It ends at once if another supervisor runs the attempt already, which an earlier node had just started.
  if (adopt(over.folder, job, over.attempt)) return;
  on_end_(job, over.attempt, end_of(over.folder));
}

job::AttemptEnd JobProcesses::end_of(const std::string& folder) {
  job::AttemptEnd end;
  auto report = supervisor::ExitReport::read(folder);
  if (!report.is_ok()) {
    supervisor::JobLimits::clear(folder);
    end.kind = job::AttemptEnd::Kind::kLost;
    end.text = "its supervisor is gone without a report: it was killed, or the machine was restarted";
    return end;
  }
  if (!report->not_started.empty()) {
    end.kind = job::AttemptEnd::Kind::kNotStarted;
    end.text = report->not_started;
    return end;
  }
  std::uint32_t number = 0;
  for (const supervisor::ReplicaReport& replica : report->replicas) {
    job::ReplicaEnd one{replica.exit_code, replica.signal, replica.asked, replica.peak_memory_bytes, ""};
    if (!one.succeeded()) one.text = error_text(folder, number);
    if (!replica.memory.empty()) one.text = replica.memory + (one.text.empty() ? "" : "; " + one.text);
    end.replicas.push_back(std::move(one));
    ++number;
  }
  return end;
}

JobProcesses::Found JobProcesses::look(const std::string& job_folder, const std::string& job, std::uint32_t attempt,
                                       job::AttemptEnd* end) {
  const std::string folder = supervisor::attempt_folder(job_folder, attempt);
  if (adopt(folder, job, attempt)) return Found::kRuns;
  const bool reported = ::access((folder + supervisor::kExitName).c_str(), F_OK) == 0;
  const bool began = ::access((folder + supervisor::kSupervisorName).c_str(), F_OK) == 0;
  if (!reported && !began) return Found::kNeverBegan;
  *end = end_of(folder);
  return Found::kEnded;
}

// A supervisor takes its lock a moment before it writes its name.
bool JobProcesses::adopt(const std::string& folder, const std::string& job, std::uint32_t attempt) {
  for (int left = kLooks; left > 0 && is_locked(folder); --left) {
    const os::ProcessName name = name_in(folder);
    auto pidfd = os::open_pidfd(name.pid);
    // Checked after pidfd_open: if the name still matches, the descriptor is that of the named process.
    if (pidfd.is_ok() && name.exists()) {
      return watch(job, attempt, folder, name.pid, std::move(pidfd).value()).is_ok();
    }
    ::nanosleep(&kLockPause, nullptr);
  }
  return false;
}

void JobProcesses::signal(const std::string& job, int number) {
  auto found = running_.find(job);
  if (found != running_.end()) (void)os::send_signal(found->second.pidfd, number).is_ok();
}

pid_t JobProcesses::pid(const std::string& job) const {
  auto found = running_.find(job);
  return found == running_.end() ? 0 : found->second.pid;
}

std::string JobProcesses::job_of(pid_t pid) const {
  for (const auto& [job, running] : running_) {
    if (running.pid == pid) return job;
  }
  return "";
}

void JobProcesses::end_all(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  bool killed = false;
  while (!running_.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 && !std::exchange(killed, true)) {
      for (const auto& [job, running] : running_) signal(job, SIGHUP);
    }
    pollfd watched{running_.begin()->second.pidfd.get(), POLLIN, 0};
    ::poll(&watched, 1, killed ? -1 : static_cast<int>(left.count()));
    if ((watched.revents & POLLIN) != 0) ended(std::string(running_.begin()->first));
  }
}

}  // namespace fray::node
