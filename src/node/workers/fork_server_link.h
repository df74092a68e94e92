// ForkServerLink: the node's side of one fork server: its process, the socket to it, and its last lines of output.
//
// Threading:  the node's loop.
// Ownership:  owns the socket and the pipe of its output. The process is killed at the end of the link.
// Failure:    start() returns why the program cannot start, and adopt() why its descriptors cannot be watched. A server that
//             dies or breaks the format is killed and reported once through on_ended; its last lines of output are in
//             last_lines().
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "event/loop.h"
#include "model/ids.h"
#include "node/workers/fork_server_command.h"
#include "node/workers/log_tail.h"
#include "os/limits/process_limits.h"
#include "os/process/spawn.h"
#include "wire/socket.h"

namespace fray::node {

// A fork server that somebody else has started, as a child of this process.
struct StartedForkServer {
  pid_t pid = 0;
  os::Fd socket;
  os::Fd output;  // the pipe that it writes to
};

class ForkServerLink {
 public:
  struct Events {
    std::function<void(wire::Incoming&)> on_frame;  // kServerReady, kSpawned, kExited
    std::function<void()> on_ended;
  };

  ForkServerLink(event::Loop& loop, os::Spawner& spawner, const os::ProcessLimits& limits, Events events)
      : loop_(loop), spawner_(spawner), limits_(limits), events_(std::move(events)) {}
  ~ForkServerLink();
  ForkServerLink(const ForkServerLink&) = delete;
  ForkServerLink& operator=(const ForkServerLink&) = delete;

  Status start(const ForkServerCommand& command);
  // Takes over one that runs already, in place of start().
  Status adopt(StartedForkServer started);
  bool is_running() const { return socket_.is_open(); }
  pid_t pid() const { return pid_; }
  // `fds`: control socket, stdout, stderr, worker page, guardian's program.
  void spawn_worker(ProcessId worker, std::vector<os::Fd> fds);
  // What event loops and what actors need is loaded before it forks again.
  void load_loop();
  void load_actors();
  std::string last_lines() const { return output_.text(); }
  // Reads the output of the fork server to the end: after its death, before last_lines().
  void drain_output();

 private:
  Status watch();
  void ready(std::uint32_t events);
  void read();
  void flush();
  void end();

  event::Loop& loop_;
  os::Spawner& spawner_;
  const os::ProcessLimits& limits_;
  Events events_;
  wire::FrameSocket socket_;
  os::Fd output_pipe_;
  LogTail output_;
  pid_t pid_ = 0;
  bool watches_output_ = false;
};

}  // namespace fray::node
