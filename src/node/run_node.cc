#include "node/run_node.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/log_line.h"
#include "model/json_text.h"
#include "node/node.h"
#include "node/sessions/folder_watch.h"
#include "os/files/run_folder.h"
#include "os/process/close_range.h"

namespace fray::node {

namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kClientFd = 3;  // the client's socket, or the pipe of the starter
constexpr int kForkServerFd = 4;
constexpr int kForkOutputFd = 5;

// Makes the standard descriptors /dev/null and the log, the descriptor of the starter 3, and closes all others but those of a
// fork server that was started already.
Status arrange_descriptors(const NodeArguments& arguments) {
  // The copies have numbers above those that are to be assigned.
  auto copy = [](int fd) { return os::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, kForkOutputFd + 1)); };
  os::Fd opened(::open("/dev/null", O_RDWR | O_CLOEXEC));
  os::Fd null = copy(opened.get());
  if (!null.is_open()) return Status::io_error("/dev/null", errno);
  const int starter = arguments.client_fd >= 0 ? arguments.client_fd : arguments.ready_fd;
  os::Fd client = starter >= 0 ? copy(starter) : os::Fd();
  if (starter >= 0 && !client.is_open()) return Status::io_error("the starter's descriptor", errno);
  os::Fd log = copy(arguments.log_fd);
  if (!log.is_open()) log = copy(null.get());
  opened.reset();
  if (::dup2(null.get(), 0) < 0 || ::dup2(null.get(), 1) < 0 || ::dup2(log.get(), 2) < 0) {
    return Status::io_error("dup2", errno);
  }
  if (client.is_open() && ::dup3(client.get(), kClientFd, O_CLOEXEC) < 0) return Status::io_error("dup3", errno);
  for (os::Fd* fd : {&log, &client, &null}) fd->reset();
  if (arguments.fork_server_pid > 0) {
    for (int fd : {kForkServerFd, kForkOutputFd}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    os::close_from(kForkOutputFd + 1);
    return Status::ok();
  }
  os::close_from(starter >= 0 ? kClientFd + 1 : kClientFd);
  return Status::ok();
}

// Continues in a process that is not the client's child; in the client's child if fork() fails.
void leave_parent() {
  if (::fork() > 0) ::_exit(kExitOk);
}

Result<os::Fd> block_signals(bool foreground) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, foreground ? SIG_DFL : SIG_IGN);
  sigset_t handled;
  sigemptyset(&handled);
  if (foreground) sigaddset(&handled, SIGHUP);
  for (int signal : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&handled, signal);
  if (::sigprocmask(SIG_SETMASK, &handled, nullptr) != 0) return Status::io_error("sigprocmask", errno);
  os::Fd fd(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.is_open()) return Status::io_error("signalfd", errno);
  return fd;
}

// Writes one line and closes the pipe; the starter waits for either.
void tell_starter(const nlohmann::json& news) {
  os::Fd pipe(kClientFd);
  const std::string line = json_text(news) + "\n";
  // A failure means that the starter has ended, which does not matter.
  [[maybe_unused]] ssize_t written = ::write(pipe.get(), line.data(), line.size());
}

void tell_ready(const Node& node, const std::map<std::string, std::string>& news) {
  nlohmann::json line = news;
  line["socket"] = node.socket_path();
  line["pid"] = ::getpid();
  tell_starter(line);
}

void tell_failure(const NodeArguments& arguments, const Status& why) {
  if (arguments.ready_fd >= 0) {
    return tell_starter({{"error", why.message()}, {"code", to_string(why.code())}});
  }
  if (arguments.client_fd < 0) return;
  wire::FrameSocket socket{os::Fd(kClientFd)};
  socket.queue(
      wire::frame(wire::ControlType::kRefused, 0, wire::Text{why.code(), "the node cannot start: " + why.message()}));
  if (!socket.flush().is_ok()) return;
}

void handle_signals(int fd, event::Loop& loop, Node& node) {
  signalfd_siginfo info;
  while (::read(fd, &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    if (info.ssi_signo == SIGCHLD) continue;
    loop.stop();
  }
  node.reap_children();
}

// The end of the input means that the process at its other end has ended, in whatever way.
Status follow_input(event::Loop& loop) {
  const Status added = loop.add(STDIN_FILENO, EPOLLIN, [&loop](std::uint32_t) {
    char ignored[256];
    if (::read(STDIN_FILENO, ignored, sizeof(ignored)) > 0) return;
    loop.remove(STDIN_FILENO);
    loop.stop();
  });
  if (added.is_ok()) return added;
  return Status(StatusCode::kInvalidArgument,
                "to end with its standard input the node needs a pipe there, and no file");
}

// Lets a started node end when its home is removed. A folder outside of its home may be one that the system removes when
// its user logs out ($XDG_RUNTIME_DIR): the node and its jobs go on then.
std::unique_ptr<FolderWatch> end_with_home(event::Loop& loop, const std::string& folder) {
  const std::string home = os::home_path();
  if (!folder.starts_with(home + "/")) return nullptr;
  auto watch = FolderWatch::create(loop, folder, [&loop, home] {
    log_event(LogLevel::kWarning, "fray node: the node ends, with its jobs, because its home {} was removed", home);
    loop.stop();
  });
  if (watch.is_ok()) return std::move(watch).value();
  log_event(LogLevel::kWarning, "fray node: the node will not notice when its home is removed: {}",
            watch.status().message());
  return nullptr;
}

Status serve(const NodeArguments& arguments, SessionOptions options, bool* ready) {
  FRAY_ASSIGN_OR_RETURN(os::Fd signals, block_signals(arguments.foreground));
  FRAY_ASSIGN_OR_RETURN(std::unique_ptr<event::Loop> loop, event::Loop::create());
  const bool wants_dashboard = options.dashboard;
  Node::Settings settings{std::move(options), arguments.release, arguments.embedded};
  FRAY_ASSIGN_OR_RETURN(std::unique_ptr<Node> node, Node::create(*loop, std::move(settings)));
  Node& wired = *node;
  FRAY_RETURN_IF_ERROR(
      loop->add(signals.get(), EPOLLIN, [&](std::uint32_t) { handle_signals(signals.get(), *loop, wired); }));
  if (arguments.fork_server_pid > 0) {
    node->adopt_fork_server({arguments.fork_server_pid, os::Fd(kForkServerFd), os::Fd(kForkOutputFd)});
  }
  if (arguments.client_fd >= 0) {
    // A client that has ended already is not a failure of the node.
    if (Status adopted = node->adopt(os::Fd(kClientFd)); !adopted.is_ok()) return Status::ok();
  }
  Attachment attached;
  if (arguments.attach && (arguments.attaches_always || wants_dashboard)) {
    FRAY_ASSIGN_OR_RETURN(attached, arguments.attach(*loop, *node, node->session_folder()));
  }
  std::unique_ptr<FolderWatch> home_watch;
  if (!arguments.embedded) home_watch = end_with_home(*loop, node->session_folder());
  if (arguments.until_eof) FRAY_RETURN_IF_ERROR(follow_input(*loop));
  *ready = true;
  if (arguments.ready_fd >= 0) tell_ready(*node, attached.news);
  if (arguments.on_ready) arguments.on_ready(node->socket_path(), attached.news);
  loop->run();
  home_watch.reset();
  attached.parts.reset();
  loop->remove(signals.get());
  node->stop_all_jobs();
  Status killed = Node::kill_everything();
  node.reset();
  // Tasks may have started nodes of their own, which were killed without removing their folders.
  remove_stale_sessions(os::run_folder_path());
  return killed;
}

}  // namespace

int run_node(const NodeArguments& arguments) {
  auto options = parse_options(arguments.options_json);
  if (arguments.foreground) {
    os::close_from(kClientFd);
  } else if (Status arranged = arrange_descriptors(arguments); !arranged.is_ok()) {
    log_line("fray node: {}\n", arranged.message());
    return kExitFailed;
  }
  if (!options.is_ok()) {
    log_line("fray node: {}\n", options.status().message());
    tell_failure(arguments, options.status());
    return kExitUsage;
  }
  if (!arguments.foreground) {
    if (arguments.fork_server_pid == 0 && (arguments.embedded || arguments.ready_fd >= 0)) leave_parent();
    ::setsid();  // fails for the leader of a group, which is outside of the terminal's group already
  }
  if (::chdir("/") != 0) return kExitFailed;
  bool ready = false;
  Status served = serve(arguments, std::move(options).value(), &ready);
  if (served.is_ok()) return kExitOk;
  log_event(LogLevel::kError, "fray node: {}", served.message());
  if (!ready || arguments.client_fd >= 0) tell_failure(arguments, served);
  return kExitFailed;
}

}  // namespace fray::node
