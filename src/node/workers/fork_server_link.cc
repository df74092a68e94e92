#include "node/workers/fork_server_link.h"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/process/child_processes.h"
#include "os/sockets/socket_pair.h"

namespace fray::node {

namespace {

// Descriptors of the fork server: the node's socket, and a file with the module path, each entry ended by a zero byte.
// An empty first entry means that the others are added to the interpreter's own. Both numbers are passed as arguments,
// not as variables, because the environment belongs to the user.
constexpr int kSocketFd = 3;
constexpr int kPathFd = 4;
constexpr const char* kBootstrap =
    "import sys, os, gc\n"
    "collects = gc.isenabled()\n"
    "gc.disable()\n"
    "with open(int(sys.argv[2]), 'rb') as file: paths = file.read().split(b'\\0')[:-1]\n"
    "own = sys.path[1:] if paths[:1] == [b''] else []\n"
    "sys.path[:] = own + [os.fsdecode(path) for path in paths if path]\n"
    "fd = int(sys.argv[1])\n"
    "del sys.argv[1:], paths, file, own\n"
    "from fray.backend.native import fork_server\n"
    "fork_server.main(fd, collects)\n";

Result<os::Fd> write_module_path(const std::vector<std::string>& module_path, bool adds) {
  std::string text(adds ? 1 : 0, '\0');
  for (const std::string& entry : module_path) {
    text += entry;
    text += '\0';
  }
  os::Fd file(FRAY_FAULT("module_path", EMFILE) ? -1 : ::memfd_create("fray-module-path", MFD_CLOEXEC));
  if (!file.is_open()) return Status::io_error("memfd_create", errno);
  if (::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return Status::io_error("cannot write the module path", errno);
  }
  return file;
}

}  // namespace

ForkServerLink::~ForkServerLink() {
  if (socket_.is_open()) loop_.remove(socket_.fd());
  if (output_pipe_.is_open()) loop_.remove(output_pipe_.get());
}

Status ForkServerLink::start(const ForkServerCommand& command) {
  FRAY_ASSIGN_OR_RETURN(auto ends, os::make_socket_pair());
  FRAY_ASSIGN_OR_RETURN(auto pipe, os::make_pipe());
  FRAY_ASSIGN_OR_RETURN(os::Fd module_path, write_module_path(command.module_path, command.adds_to_module_path));
  os::SpawnRequest request;
  request.command = command.words;
  request.command.insert(request.command.end(), {"-c", kBootstrap, std::to_string(kSocketFd), std::to_string(kPathFd)});
  request.folder = command.folder;
  request.environment = command.environment;
  request.fds = {{ends.second.get(), kSocketFd}, {module_path.get(), kPathFd}};
  request.standard_output = pipe.second.get();
  request.standard_error = pipe.second.get();
  FRAY_ASSIGN_OR_RETURN(pid_, spawner_.spawn(request));
  limits_.restore_in(pid_);
  socket_ = wire::FrameSocket(std::move(ends.first));
  output_pipe_ = std::move(pipe.first);
  return watch();
}

Status ForkServerLink::adopt(StartedForkServer started) {
  pid_ = started.pid;
  for (const os::Fd* fd : {&started.socket, &started.output}) {
    const int flags = ::fcntl(fd->get(), F_GETFL);
    if (flags < 0 || ::fcntl(fd->get(), F_SETFL, flags | O_NONBLOCK) != 0) return Status::io_error("fcntl", errno);
  }
  socket_ = wire::FrameSocket(std::move(started.socket));
  output_pipe_ = std::move(started.output);
  return watch();
}

Status ForkServerLink::watch() {
  FRAY_RETURN_IF_ERROR(loop_.add(socket_.fd(), EPOLLIN, [this](std::uint32_t events) { ready(events); }));
  return loop_.add(output_pipe_.get(), EPOLLIN, [this](std::uint32_t) { drain_output(); });
}

void ForkServerLink::spawn_worker(ProcessId worker, std::vector<os::Fd> fds) {
  const auto count = static_cast<std::uint8_t>(fds.size());
  socket_.queue(wire::frame(wire::ControlType::kSpawn, worker, count), std::move(fds));
  flush();
}

void ForkServerLink::load_loop() {
  socket_.queue(wire::frame(wire::ControlType::kLoadLoop));
  flush();
}

void ForkServerLink::load_actors() {
  socket_.queue(wire::frame(wire::ControlType::kLoadActors));
  flush();
}

void ForkServerLink::ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if (socket_.is_open() && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read();
}

void ForkServerLink::read() {
  Status filled = socket_.fill();
  wire::Incoming frame;
  while (socket_.is_open()) {
    auto next = socket_.next(&frame);
    if (!next.is_ok()) return end();
    if (!*next) break;
    events_.on_frame(frame);
  }
  if (socket_.is_open() && !filled.is_ok()) end();
}

void ForkServerLink::flush() {
  if (!socket_.is_open()) return;
  if (!socket_.flush().is_ok()) return;  // the reader finds the broken socket
  if (socket_.has_output() == watches_output_) return;
  watches_output_ = socket_.has_output();
  loop_.change(socket_.fd(), watches_output_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void ForkServerLink::drain_output() {
  if (!output_pipe_.is_open()) return;
  std::array<char, 16384> chunk;
  constexpr int kMostReads = 16;
  for (int reads = 0; reads < kMostReads; ++reads) {
    ssize_t got = ::read(output_pipe_.get(), chunk.data(), chunk.size());
    if (got > 0) {
      output_.append({chunk.data(), static_cast<std::size_t>(got)});
      continue;
    }
    if (got == 0) {
      loop_.remove(output_pipe_.get());
      output_pipe_.reset();
    }
    return;
  }
}

void ForkServerLink::end() {
  loop_.remove(socket_.fd());
  socket_.close();
  os::kill_tree(pid_);
  drain_output();
  events_.on_ended();
}

}  // namespace fray::node
