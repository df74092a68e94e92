#include "worker/fork_server.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
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
constexpr int kEventsAtOnce = 128;
// With so many workers it pays that they share what most tasks and actors need.
constexpr int kManyWorkers = 3;

class ForkServer {
  struct Guarded {
    ProcessId process = 0;
    GuardedFork fork;
    bool reported = false;  // that its worker has ended
    bool guardian_ended = false;
  };
  using Entry = std::list<Guarded>::iterator;

 public:
  ForkServer(int node_fd, const ForkCallbacks& callbacks) : callbacks_(callbacks), node_(os::Fd(node_fd)) {}

  Status prepare();
  // Until the node is gone, or, in a child, until it was forked.
  std::optional<ForkedWorker> serve();

 private:
  bool watch(int operation, int fd, std::uint32_t events, void* name) const;
  bool read_node(std::optional<ForkedWorker>& worker);
  std::optional<ForkedWorker> spawn(ProcessId process, std::vector<os::Fd> fds);
  ForkedWorker become_worker(ProcessId process, std::vector<os::Fd>& fds);
  void guard(ProcessId process, GuardedFork forked);
  void hear(Guarded& guarded);
  void reap();
  void guardian_ended(Guarded& guarded);
  void report(Guarded& guarded, const os::Ended& ended);
  void forget(Entry entry);
  void kill_orphans();
  void drain_signals();

  const ForkCallbacks& callbacks_;
  wire::FrameSocket node_;
  os::Fd signals_;
  os::Fd epoll_;  // the node, signals, and the links of all guardians
  sigset_t mask_before_{};
  rlimit files_before_{};
  std::list<Guarded> guarded_;
  std::unordered_map<pid_t, Entry> by_pid_;  // of guardians and of their workers
  int forks_ = 0;
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
  epoll_ = os::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.is_open()) return Status::io_error("epoll_create1", errno);
  const bool watches =
      watch(EPOLL_CTL_ADD, node_.fd(), EPOLLIN, &node_) && watch(EPOLL_CTL_ADD, signals_.get(), EPOLLIN, &signals_);
  if (!watches) return Status::io_error("epoll_ctl", errno);
  // There is a descriptor for each worker; the workers get the limit that was before.
  if (::getrlimit(RLIMIT_NOFILE, &files_before_) == 0) {
    const rlimit raised{files_before_.rlim_max, files_before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &raised);
  }
  return Status::ok();
}

bool ForkServer::watch(int operation, int fd, std::uint32_t events, void* name) const {
  epoll_event event{};
  event.events = events;
  event.data.ptr = name;
  return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
}

std::optional<ForkedWorker> ForkServer::serve() {
  node_.queue(wire::frame(wire::ControlType::kServerReady));
  std::array<epoll_event, kEventsAtOnce> events;
  bool watches_output = false;
  while (node_.flush().is_ok()) {
    if (std::exchange(watches_output, node_.has_output()) != node_.has_output()) {
      watch(EPOLL_CTL_MOD, node_.fd(), watches_output ? EPOLLIN | EPOLLOUT : EPOLLIN, &node_);
    }
    const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, -1);
    if (count < 0 && errno != EINTR) break;
    bool signalled = false;
    std::uint32_t of_node = 0;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.ptr == &node_) {
        of_node = event.events;
      } else if (event.data.ptr == &signals_) {
        signalled = true;
      } else {
        hear(*static_cast<Guarded*>(event.data.ptr));
      }
    }
    // The news first: looking for orphans takes as long as starting over elsewhere. A broken socket ends the loop.
    (void)node_.flush().is_ok();
    if (signalled) {
      drain_signals();
      reap();
    }
    if ((of_node & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) continue;
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
  if (++forks_ == kManyWorkers && callbacks_.load_for_many) callbacks_.load_for_many();
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
  guard(process, std::move(forked));
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
  if (files_before_.rlim_max != 0) ::setrlimit(RLIMIT_NOFILE, &files_before_);
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  if (callbacks_.after_fork_child) callbacks_.after_fork_child();
  return {process, kControlFd, kPageFd};
}

void ForkServer::drain_signals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
  }
}

void ForkServer::guard(ProcessId process, GuardedFork forked) {
  const Entry entry = guarded_.insert(guarded_.end(), {process, std::move(forked)});
  // A number may be given again before the entry of whoever had it is gone.
  by_pid_.insert_or_assign(entry->fork.guardian(), entry);
  by_pid_.insert_or_assign(entry->fork.worker(), entry);
  watch(EPOLL_CTL_ADD, entry->fork.link(), EPOLLIN, &*entry);  // else its end is told with that of its guardian
}

// The link is let go of before it may be closed: a child that was just forked may have it too, and it would stay watched.
void ForkServer::hear(Guarded& guarded) {
  if (guarded.fork.link() < 0) return;
  watch(EPOLL_CTL_DEL, guarded.fork.link(), 0, nullptr);
  if (auto ended = guarded.fork.worker_end()) report(guarded, *ended);
  if (guarded.fork.link() >= 0) watch(EPOLL_CTL_ADD, guarded.fork.link(), EPOLLIN, &guarded);
}

void ForkServer::report(Guarded& guarded, const os::Ended& ended) {
  if (std::exchange(guarded.reported, true)) return;
  wire::Exited facts;
  facts.pid = guarded.fork.worker();
  facts.wait_status = ended.wait_status;
  facts.peak_memory_bytes = static_cast<std::uint64_t>(ended.peak_memory_kib) * 1024;
  node_.queue(wire::frame(wire::ControlType::kExited, guarded.process, facts));
}

// A guardian that ends by itself has left nobody. What is to be killed here is of those that were killed.
void ForkServer::reap() {
  bool left = false;
  while (auto ended = os::reap_one()) {
    auto found = by_pid_.find(ended->pid);
    if (found == by_pid_.end()) {
      left = true;
      continue;
    }
    const Entry entry = found->second;
    if (ended->pid == entry->fork.worker()) report(*entry, *ended);  // its guardian has died before it
    if (ended->pid == entry->fork.guardian()) guardian_ended(*entry);
    left = left || ended->pid == entry->fork.worker() || ended->wait_status != 0;
    if (entry->reported && entry->guardian_ended) forget(entry);
  }
  (void)node_.flush().is_ok();
  if (left) kill_orphans();
}

// One that was killed could not say anything: its worker has died as well, and is reaped here if it was not there.
void ForkServer::guardian_ended(Guarded& guarded) {
  guarded.guardian_ended = true;
  hear(guarded);
  if (!guarded.reported && os::parent_of(guarded.fork.worker()) != ::getpid()) report(guarded, {0, SIGKILL, 0});
}

void ForkServer::forget(Entry entry) {
  for (pid_t pid : {entry->fork.guardian(), entry->fork.worker()}) {
    if (auto found = by_pid_.find(pid); found != by_pid_.end() && found->second == entry) by_pid_.erase(found);
  }
  if (entry->fork.link() >= 0) watch(EPOLL_CTL_DEL, entry->fork.link(), 0, nullptr);
  guarded_.erase(entry);
}

void ForkServer::kill_orphans() {
  for (pid_t child : os::children_of_this_process()) {
    auto found = by_pid_.find(child);
    if (found == by_pid_.end() || found->second->fork.guardian() != child) os::kill_tree(child);
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
