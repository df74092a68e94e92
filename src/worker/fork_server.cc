#include "worker/fork_server.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/process/child_processes.h"
#include "os/process/close_range.h"
#include "os/process/pidfd.h"
#include "wire/control.h"
#include "wire/process.h"
#include "wire/socket.h"
#include "worker/guardian.h"

namespace fray::worker {

namespace {

constexpr std::chrono::seconds kKillLimit{5};
constexpr int kControlFd = 3;
constexpr int kPageFd = 4;

class ForkServer {
  struct Guarded {
    ProcessId process = 0;
    GuardedFork fork;
    bool reported = false;  // that its worker has ended
    bool guardian_ended = false;
  };

 public:
  ForkServer(int node_fd, const ForkCallbacks& callbacks) : callbacks_(callbacks), node_(os::Fd(node_fd)) {}

  Status prepare();
  // Until the node is gone, or, in a child, until it was forked.
  std::optional<ForkedWorker> serve();

 private:
  bool read_node(std::optional<ForkedWorker>& worker);
  std::optional<ForkedWorker> spawn(ProcessId process, std::vector<os::Fd> fds);
  ForkedWorker become_worker(ProcessId process, std::vector<os::Fd>& fds);
  void hear_guardians();
  void reap();
  void guardian_ended(Guarded& guarded);
  void report(Guarded& guarded, const os::Ended& ended);
  void kill_orphans();
  void drain_signals();

  const ForkCallbacks& callbacks_;
  wire::FrameSocket node_;
  os::Fd signals_;
  sigset_t mask_before_{};
  std::list<Guarded> guarded_;
  bool has_loop_ = false;
};

Status ForkServer::prepare() {
  int flags = ::fcntl(node_.fd(), F_GETFL);
  if (flags < 0 || ::fcntl(node_.fd(), F_SETFL, flags | O_NONBLOCK) != 0) return Status::io_error("fcntl", errno);
  ::fcntl(node_.fd(), F_SETFD, FD_CLOEXEC);
  FRAY_RETURN_IF_ERROR(os::become_subreaper());
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  if (::sigprocmask(SIG_BLOCK, &watched, &mask_before_) != 0) return Status::io_error("sigprocmask", errno);
  signals_ = os::Fd(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.is_open()) return Status::io_error("signalfd", errno);
  return Status::ok();
}

std::optional<ForkedWorker> ForkServer::serve() {
  node_.queue(wire::frame(wire::ControlType::kServerReady));
  while (node_.flush().is_ok()) {
    short node_events = POLLIN;
    if (node_.has_output()) node_events |= POLLOUT;
    std::vector<pollfd> watched{{node_.fd(), node_events, 0}, {signals_.get(), POLLIN, 0}};
    for (const Guarded& each : guarded_) watched.push_back({each.fork.link(), POLLIN, 0});
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) break;
    hear_guardians();
    if (watched[1].revents != 0) {
      drain_signals();
      reap();
    }
    if ((watched[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    std::optional<ForkedWorker> worker;
    bool alive = read_node(worker);
    if (worker) return worker;
    if (!alive) break;
  }
  node_.close();
  // A process that does not die within the limit cannot be killed by anybody; the rest is gone.
  if (!os::kill_all_descendants(kKillLimit).is_ok()) return std::nullopt;
  return std::nullopt;
}

bool ForkServer::read_node(std::optional<ForkedWorker>& worker) {
  Status filled = node_.fill();
  wire::Incoming frame;
  while (true) {
    auto next = node_.next(&frame);
    if (!next.is_ok()) return false;
    if (!*next) break;
    auto type = static_cast<wire::ControlType>(frame.header.type);
    if (type == wire::ControlType::kLoadLoop) {
      if (!std::exchange(has_loop_, true) && callbacks_.load_loop) callbacks_.load_loop();
      continue;
    }
    if (type != wire::ControlType::kSpawn || frame.fds.size() != 4) return false;
    worker = spawn(static_cast<ProcessId>(frame.header.id), std::move(frame.fds));
    if (worker) return true;
  }
  return filled.is_ok();
}

std::optional<ForkedWorker> ForkServer::spawn(ProcessId process, std::vector<os::Fd> fds) {
  if (callbacks_.before_fork) callbacks_.before_fork();
  GuardedFork forked = GuardedFork::make();
  if (forked.is_worker()) return become_worker(process, fds);
  if (FRAY_FAULT("fork_server.dies", 0)) ::raise(SIGKILL);  // before anybody has heard of the worker
  if (callbacks_.after_fork_parent) callbacks_.after_fork_parent();
  wire::Spawned answer;
  if (forked.error() != 0) {
    answer.error = std::string("fork failed: ") + std::strerror(forked.error());
    node_.queue(wire::frame(wire::ControlType::kSpawned, process, answer));
    return std::nullopt;
  }
  answer.pid = forked.worker();
  auto pidfd = os::open_pidfd(forked.worker());
  forked.released();
  guarded_.push_back({process, std::move(forked)});
  if (pidfd.is_ok()) {
    std::vector<os::Fd> attached;
    attached.push_back(std::move(pidfd).value());
    node_.queue(wire::frame(wire::ControlType::kSpawned, process, answer, 1), std::move(attached));
  } else {
    node_.queue(wire::frame(wire::ControlType::kSpawned, process, answer));
  }
  return std::nullopt;
}

ForkedWorker ForkServer::become_worker(ProcessId process, std::vector<os::Fd>& fds) {
  ::setpgid(0, 0);
  int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, 0);
  ::dup2(fds[1].get(), 1);
  ::dup2(fds[2].get(), 2);
  // The fork server's own objects are not destroyed in the child (see run_fork_server), so numbers may be taken over.
  int control = ::fcntl(fds[0].get(), F_DUPFD_CLOEXEC, kPageFd + 1);
  int page = ::fcntl(fds[3].get(), F_DUPFD_CLOEXEC, kPageFd + 1);
  for (os::Fd& fd : fds) fd.release();
  if (control < 0 || page < 0) ::_exit(1);
  ::dup3(control, kControlFd, O_CLOEXEC);
  ::dup3(page, kPageFd, O_CLOEXEC);
  os::close_from(kPageFd + 1);
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  if (callbacks_.after_fork_child) callbacks_.after_fork_child();
  return {process, kControlFd, kPageFd};
}

void ForkServer::drain_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
  }
}

void ForkServer::hear_guardians() {
  for (Guarded& each : guarded_) {
    if (auto ended = each.fork.worker_end()) report(each, *ended);
  }
  // The news first: looking for orphans takes as long as starting over elsewhere. A broken socket ends serve().
  (void)node_.flush().is_ok();
}

void ForkServer::report(Guarded& guarded, const os::Ended& ended) {
  if (std::exchange(guarded.reported, true)) return;
  wire::Exited facts;
  facts.pid = guarded.fork.worker();
  facts.wait_status = ended.wait_status;
  facts.peak_memory_bytes = static_cast<std::uint64_t>(ended.peak_memory_kib) * 1024;
  node_.queue(wire::frame(wire::ControlType::kExited, guarded.process, facts));
}

void ForkServer::reap() {
  bool someone = false;
  while (auto ended = os::reap_one()) {
    someone = true;
    for (Guarded& each : guarded_) {
      if (ended->pid == each.fork.worker()) report(each, *ended);  // its guardian has died before it
      if (ended->pid == each.fork.guardian()) guardian_ended(each);
    }
  }
  if (!someone) return;
  std::erase_if(guarded_, [](const Guarded& each) { return each.reported && each.guardian_ended; });
  (void)node_.flush().is_ok();
  kill_orphans();
}

// One that was killed could not say anything: its worker has died as well, and is reaped here if it was not there.
void ForkServer::guardian_ended(Guarded& guarded) {
  guarded.guardian_ended = true;
  if (auto told = guarded.fork.worker_end()) report(guarded, *told);
  if (!guarded.reported && os::parent_of(guarded.fork.worker()) != ::getpid()) report(guarded, {0, SIGKILL, 0});
}

// What guardians that were killed have left.
void ForkServer::kill_orphans() {
  for (pid_t child : os::children_of_this_process()) {
    const bool is_guardian = std::any_of(guarded_.begin(), guarded_.end(),
                                         [child](const Guarded& each) { return each.fork.guardian() == child; });
    if (!is_guardian) os::kill_tree(child);
  }
}

}  // namespace

ForkedWorker run_fork_server(int node_fd, const ForkCallbacks& callbacks) {
  auto server = std::make_unique<ForkServer>(node_fd, callbacks);
  if (Status ready = server->prepare(); !ready.is_ok()) {
    std::fprintf(stderr, "the fork server cannot start: %s\n", ready.message().c_str());
    ::_exit(1);
  }
  std::optional<ForkedWorker> worker = server->serve();
  if (!worker) ::_exit(0);
  // In a child the server's descriptors are closed already and their numbers are in use for others. It stays reachable,
  // for a checker of leaks; a compiler leaves out a plain pointer that nobody reads.
  [[maybe_unused]] static const ForkServer* volatile abandoned = nullptr;
  abandoned = server.release();
  return *worker;
}

}  // namespace fray::worker
