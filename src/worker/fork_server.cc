#include "worker/fork_server.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fault.h"
#include "guardian/guarded_fork.h"
#include "os/process/child_processes.h"
#include "os/process/close_range.h"
#include "os/process/pidfd.h"
#include "os/sockets/socket_pair.h"
#include "wire/control.h"
#include "wire/process.h"
#include "wire/socket.h"

namespace fray::worker {

namespace {

constexpr std::chrono::seconds kKillLimit{5};
constexpr int kControlFd = 3;
constexpr int kPageFd = 4;
constexpr int kEventsAtOnce = 128;
constexpr std::chrono::seconds kUnknownLimit{1};  // how long a request waits until it is known what is needed
constexpr std::chrono::seconds kLoadLimit{20};
constexpr int kLookMilliseconds = 2;    // between two questions for what is needed, while requests wait
constexpr int kMostWithoutRest = 4;     // workers that are forked before the rest is loaded
constexpr int kRestMilliseconds = 250;  // in which nothing happens: first calls are over by then, or take long

using Clock = std::chrono::steady_clock;

// Beside the class and not in it: Clang does not make an std::optional of a nested class whose members have initial values.
struct Loader {
  pid_t pid = 0;  // 0: it was reaped
  wire::FrameSocket socket;
  bool is_ready = false;
  Clock::time_point deadline;
  std::map<ProcessId, std::int32_t> workers;  // below the loader, with their pids; 0: it is not known yet
};

class ForkServer {
  struct Guarded {
    ProcessId process = 0;
    guardian::GuardedFork fork;
    bool reported = false;  // the node was told that the worker has ended
    bool guardian_ended = false;
  };
  using Entry = std::list<Guarded>::iterator;
  struct Request {
    ProcessId process = 0;
    std::vector<os::Fd> fds;
    Clock::time_point since;
  };
  enum class Way { kHere, kLoader, kLater };

 public:
  ForkServer(int node_fd, const ForkCallbacks& callbacks) : callbacks_(callbacks), node_(os::Fd(node_fd)) {}

  Status prepare();
  // The same for a loader, whose signals are blocked already.
  Status prepare_loader(const ForkServer& parent);
  // Returns when the node is gone, and in each worker that was forked, with that worker.
  std::optional<ForkedWorker> serve();

 private:
  bool watch(int operation, int fd, std::uint32_t events, void* name) const;
  Status watch_signals();
  bool read_node();
  bool load_for(wire::ControlType type);
  std::optional<ForkedWorker> serve_requests();
  Way way_of(const Request& request) const;
  std::optional<ForkedWorker> start_loader();
  [[nodiscard]] std::optional<ForkedWorker> be_loader(os::Fd link);
  void hand_on(Request request);
  void hear_loader();
  void relay(wire::Incoming& frame);
  void give_up_loader();
  std::optional<ForkedWorker> spawn(ProcessId process, std::vector<os::Fd> fds);
  int patience() const;
  void load_rest();
  ForkedWorker become_worker(ProcessId process, std::vector<os::Fd>& fds);
  void guard(ProcessId process, guardian::GuardedFork forked);
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
  std::unordered_map<pid_t, Entry> by_pid_;  // by the pid of the guardian, and by that of its worker
  std::list<Request> requests_;
  std::optional<Loader> loader_;
  bool may_load_ = true;
  bool has_loop_ = false;
  bool has_actors_ = false;
  bool has_rest_ = false;
  int forked_ = 0;  // workers, those that the loader has forked not counted
};

Status ForkServer::prepare() {
  int flags = ::fcntl(node_.fd(), F_GETFL);
  if (flags < 0 || ::fcntl(node_.fd(), F_SETFL, flags | O_NONBLOCK) != 0) return Status::io_error("fcntl", errno);
  ::fcntl(node_.fd(), F_SETFD, FD_CLOEXEC);
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  if (::sigprocmask(SIG_BLOCK, &watched, &mask_before_) != 0) return Status::io_error("sigprocmask", errno);
  // The fork server has a descriptor for each worker, so it raises the limit; the workers get the former limit.
  if (::getrlimit(RLIMIT_NOFILE, &files_before_) == 0) {
    const rlimit raised{files_before_.rlim_max, files_before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &raised);
  }
  return watch_signals();
}

Status ForkServer::prepare_loader(const ForkServer& parent) {
  mask_before_ = parent.mask_before_;
  files_before_ = parent.files_before_;
  has_loop_ = parent.has_loop_;
  has_actors_ = parent.has_actors_;
  has_rest_ = true;  // a loader loads all at once
  may_load_ = false;
  return watch_signals();
}

Status ForkServer::watch_signals() {
  FRAY_RETURN_IF_ERROR(os::become_subreaper());
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  signals_ = os::Fd(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.is_open()) return Status::io_error("signalfd", errno);
  epoll_ = os::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.is_open()) return Status::io_error("epoll_create1", errno);
  const bool watches =
      watch(EPOLL_CTL_ADD, node_.fd(), EPOLLIN, &node_) && watch(EPOLL_CTL_ADD, signals_.get(), EPOLLIN, &signals_);
  return watches ? Status::ok() : Status::io_error("epoll_ctl", errno);
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
    const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, patience());
    if (count < 0 && errno != EINTR) break;
    if (count == 0 && requests_.empty()) load_rest();
    bool signalled = false;
    bool of_loader = false;
    std::uint32_t of_node = 0;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.ptr == &node_) {
        of_node = event.events;
      } else if (event.data.ptr == &signals_) {
        signalled = true;
      } else if (loader_ && event.data.ptr == &*loader_) {
        of_loader = true;
      } else {
        hear(*static_cast<Guarded*>(event.data.ptr));
      }
    }
    // Messages to the node are sent first, because reap() may look for orphans, which takes about as long as the node
    // needs to start another worker. A broken socket ends the loop.
    (void)node_.flush().is_ok();
    if (of_loader) hear_loader();
    if (signalled) {
      drain_signals();
      reap();
    }
    if ((of_node & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !read_node()) break;
    if (std::optional<ForkedWorker> worker = serve_requests()) return worker;
  }
  node_.close();
  // A process that does not die within the limit cannot be killed at all; all others have ended.
  if (!os::kill_all_descendants(kKillLimit).is_ok()) return std::nullopt;
  return std::nullopt;
}

// Milliseconds to wait for something to happen; -1 for as long as it takes.
int ForkServer::patience() const {
  if (!requests_.empty()) return kLookMilliseconds;
  return has_rest_ || forked_ == 0 ? -1 : kRestMilliseconds;
}

bool ForkServer::read_node() {
  Status filled = node_.fill();
  wire::Incoming frame;
  while (true) {
    auto next = node_.next(&frame);
    if (!next.is_ok()) return false;
    if (!*next) break;
    auto type = static_cast<wire::ControlType>(frame.header.type);
    if (load_for(type)) continue;
    if (type != wire::ControlType::kSpawn || frame.fds.size() != 5) return false;
    requests_.push_back({static_cast<ProcessId>(frame.header.id), std::move(frame.fds), Clock::now()});
  }
  return filled.is_ok();
}

// Whether that is what the node asks for.
bool ForkServer::load_for(wire::ControlType type) {
  const bool is_loop = type == wire::ControlType::kLoadLoop;
  if (!is_loop && type != wire::ControlType::kLoadActors) return false;
  if (std::exchange(is_loop ? has_loop_ : has_actors_, true)) return true;
  const std::function<void()>& load = is_loop ? callbacks_.load_loop : callbacks_.load_actors;
  if (load) load();
  if (loader_) loader_->socket.queue(wire::frame(type));
  return true;
}

// ---- The loader ----

std::optional<ForkedWorker> ForkServer::serve_requests() {
  while (!requests_.empty()) {
    switch (way_of(requests_.front())) {
      case Way::kHere: {
        Request request = std::move(requests_.front());
        requests_.pop_front();
        if (forked_++ >= kMostWithoutRest) load_rest();
        if (auto worker = spawn(request.process, std::move(request.fds))) return worker;
        break;
      }
      case Way::kLoader: {
        Request request = std::move(requests_.front());
        requests_.pop_front();
        hand_on(std::move(request));
        break;
      }
      case Way::kLater:
        if (loader_) {
          if (Clock::now() < loader_->deadline) return std::nullopt;
          give_up_loader();
        } else if (callbacks_.needs() == Needs::kLoaded) {
          if (auto worker = start_loader()) return worker;
        } else {
          return std::nullopt;
        }
    }
  }
  if (loader_ && !loader_->socket.flush().is_ok()) give_up_loader();
  return std::nullopt;
}

ForkServer::Way ForkServer::way_of(const Request& request) const {
  if (!may_load_ || !callbacks_.needs || !callbacks_.load) return Way::kHere;
  if (loader_ && loader_->is_ready) return Way::kLoader;
  const Needs needs = callbacks_.needs();
  if (needs == Needs::kNothing) return Way::kHere;
  if (needs == Needs::kUnknown && Clock::now() >= request.since + kUnknownLimit) return Way::kHere;
  return Way::kLater;
}

std::optional<ForkedWorker> ForkServer::start_loader() {
  auto ends = os::make_socket_pair();
  if (!ends.is_ok()) {
    may_load_ = false;
    return std::nullopt;
  }
  const pid_t parent = ::getpid();
  if (callbacks_.before_fork) callbacks_.before_fork();
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!os::end_with(parent, SIGKILL)) ::_exit(1);
    ends->first.reset();
    return be_loader(std::move(ends->second));
  }
  if (callbacks_.after_fork_parent) callbacks_.after_fork_parent();
  if (pid < 0) {
    may_load_ = false;
    return std::nullopt;
  }
  loader_.emplace();
  loader_->pid = pid;
  loader_->socket = wire::FrameSocket(std::move(ends->first));
  loader_->deadline = Clock::now() + kLoadLimit;
  watch(EPOLL_CTL_ADD, loader_->socket.fd(), EPOLLIN, &*loader_);
  return std::nullopt;
}

// Returns in the workers that the loader forks, and nowhere else.
std::optional<ForkedWorker> ForkServer::be_loader(os::Fd link) {
  char name[16] = {};  // of the longest name that Linux has for a process
  ::prctl(PR_GET_NAME, name, 0, 0, 0);
  ::prctl(PR_SET_NAME, "fray-loader", 0, 0, 0);
  // These belong to the parent: the other ends of its sockets would not see that the parent has closed them while this
  // process has copies.
  node_.close();
  signals_.reset();
  epoll_.reset();
  guarded_.clear();
  by_pid_.clear();
  requests_.clear();
  if (callbacks_.after_fork_child) callbacks_.after_fork_child();
  auto server = std::make_unique<ForkServer>(link.release(), callbacks_);
  if (!server->prepare_loader(*this).is_ok() || !callbacks_.load()) ::_exit(0);
  std::optional<ForkedWorker> worker = server->serve();
  if (!worker) ::_exit(0);
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
  // Not destroyed, for the reason that run_fork_server() gives.
  [[maybe_unused]] static const ForkServer* volatile abandoned = nullptr;
  abandoned = server.release();
  return worker;
}

void ForkServer::hand_on(Request request) {
  loader_->workers[request.process] = 0;
  const auto count = static_cast<std::uint8_t>(request.fds.size());
  loader_->socket.queue(wire::frame(wire::ControlType::kSpawn, request.process, count), std::move(request.fds));
}

void ForkServer::hear_loader() {
  const Status filled = loader_->socket.fill();
  wire::Incoming frame;
  while (true) {
    auto next = loader_->socket.next(&frame);
    if (!next.is_ok()) return give_up_loader();
    if (!*next) break;
    relay(frame);
  }
  if (!filled.is_ok()) give_up_loader();
}

void ForkServer::relay(wire::Incoming& frame) {
  const auto process = static_cast<ProcessId>(frame.header.id);
  switch (static_cast<wire::ControlType>(frame.header.type)) {
    case wire::ControlType::kServerReady:
      loader_->is_ready = true;
      break;
    case wire::ControlType::kSpawned: {
      auto spawned = wire::decode<wire::Spawned>(frame.body);
      if (!spawned.is_ok()) break;
      loader_->workers[process] = spawned->pid;
      if (!spawned->error.empty()) loader_->workers.erase(process);
      const auto count = static_cast<std::uint8_t>(frame.fds.size());
      node_.queue(wire::frame(wire::ControlType::kSpawned, process, *spawned, count), std::move(frame.fds));
      break;
    }
    case wire::ControlType::kExited: {
      auto exited = wire::decode<wire::Exited>(frame.body);
      if (!exited.is_ok()) break;
      loader_->workers.erase(process);
      node_.queue(wire::frame(wire::ControlType::kExited, process, *exited));
      break;
    }
    default:
      break;
  }
}

// The workers of the loader die with it (PR_SET_PDEATHSIG), and the loader cannot report that any more.
void ForkServer::give_up_loader() {
  if (loader_->pid != 0) ::kill(loader_->pid, SIGKILL);
  watch(EPOLL_CTL_DEL, loader_->socket.fd(), 0, nullptr);
  for (const auto& [process, pid] : loader_->workers) {
    if (pid == 0) {
      wire::Spawned answer;
      answer.error = "the process that was to fork the worker has ended";
      node_.queue(wire::frame(wire::ControlType::kSpawned, process, answer));
      continue;
    }
    wire::Exited facts;
    facts.pid = pid;
    facts.wait_status = SIGKILL;
    node_.queue(wire::frame(wire::ControlType::kExited, process, facts));
  }
  loader_.reset();
  may_load_ = false;
}

// ---- Workers ----

std::optional<ForkedWorker> ForkServer::spawn(ProcessId process, std::vector<os::Fd> fds) {
  if (callbacks_.before_fork) callbacks_.before_fork();
  auto forked = guardian::GuardedFork::make(fds[4].get());
  if (forked.is_worker()) return become_worker(process, fds);
  if (FRAY_FAULT("fork_server.dies", 0)) ::raise(SIGKILL);  // before anybody has heard of the worker
  if (callbacks_.after_fork_parent) callbacks_.after_fork_parent();
  wire::Spawned answer;
  if (!forked.status().is_ok()) {
    answer.error = forked.status().message();
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

// Workers that were forked already can run their first calls meanwhile, so the node is told of them first.
void ForkServer::load_rest() {
  if (std::exchange(has_rest_, true) || !callbacks_.load_rest) return;
  (void)node_.flush().is_ok();  // a broken socket ends the loop
  callbacks_.load_rest();
}

ForkedWorker ForkServer::become_worker(ProcessId process, std::vector<os::Fd>& fds) {
  ::setpgid(0, 0);
  int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, 0);
  ::dup2(fds[1].get(), 1);
  ::dup2(fds[2].get(), 2);
  // The fork server's own objects are not destroyed in the child (see run_fork_server()), so the child may give the
  // numbers of their descriptors to others.
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

void ForkServer::guard(ProcessId process, guardian::GuardedFork forked) {
  const Entry entry = guarded_.insert(guarded_.end(), {process, std::move(forked)});
  // The kernel may give a pid to a new process before the entry of the former process is gone.
  by_pid_.insert_or_assign(entry->fork.guardian(), entry);
  by_pid_.insert_or_assign(entry->fork.worker(), entry);
  watch(EPOLL_CTL_ADD, entry->fork.link(), EPOLLIN, &*entry);  // else guardian_ended() reports it
}

// The epoll lets go of the link before worker_end() may close it: a child that was just forked may have a copy of the
// link, with which the link would stay watched.
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

// A guardian that ends by itself has left no process behind. The processes to be killed here are those of guardians that
// were killed.
void ForkServer::reap() {
  bool left = false;
  while (auto ended = os::reap_one()) {
    auto found = by_pid_.find(ended->pid);
    if (found == by_pid_.end()) {
      if (loader_ && loader_->pid == ended->pid) loader_->pid = 0;  // another process may get the pid from now on
      left = true;
      continue;
    }
    const Entry entry = found->second;
    if (ended->pid == entry->fork.worker()) report(*entry, *ended);  // the guardian has died before its worker
    if (ended->pid == entry->fork.guardian()) guardian_ended(*entry);
    left = left || ended->pid == entry->fork.worker() || ended->wait_status != 0;
    if (entry->reported && entry->guardian_ended) forget(entry);
  }
  (void)node_.flush().is_ok();
  if (left) kill_orphans();
}

// A guardian that was killed could report nothing. Its worker has died with it: either the guardian has reaped the worker,
// or the worker is a child of this process now, which reaps it.
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
    const bool is_guardian = found != by_pid_.end() && found->second->fork.guardian() == child;
    const bool is_loader = loader_ && loader_->pid == child;
    if (!is_guardian && !is_loader) os::kill_tree(child);
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
  // In a child the server's descriptors are closed already and their numbers are in use for others, so the server is not
  // destroyed. It stays reachable, for a checker of leaks; a compiler leaves out a plain pointer that nobody reads.
  [[maybe_unused]] static const ForkServer* volatile abandoned = nullptr;
  abandoned = server.release();
  return *worker;
}

}  // namespace fray::worker
