#include "door/greeting.h"

#include <filesystem>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "door/session_info.h"
#include "os/sockets/listener.h"
#include "os/sockets/peer.h"

namespace fray::door {

using wire::ControlType;

namespace {
constexpr std::chrono::milliseconds kQueuePause{10};
}  // namespace

Result<os::Fd> connect_to_node(const std::string& socket_path, const Patience& patience) {
  Result<os::Fd> connected = os::connect_to(socket_path);
  while (!connected.is_ok() && connected.status().code() == StatusCode::kTimedOut) {
    // The kernel does not report when the queue has room again.
    ::poll(nullptr, 0, static_cast<int>(kQueuePause.count()));
    FRAY_RETURN_IF_ERROR(check(patience));
    connected = os::connect_to(socket_path);
  }
  if (!connected.is_ok() && connected.status().code() == StatusCode::kUnavailable) {
    return Status(StatusCode::kUnavailable,
                  connected.status().message() + ". `fray status` lists the nodes that run, `fray start` starts one");
  }
  if (!connected.is_ok()) return connected.status();
  FRAY_ASSIGN_OR_RETURN(os::Peer peer, os::peer_of(connected->get()));
  if (peer.uid != ::getuid()) {
    return Status(StatusCode::kUnavailable, fmt::format("the node at {} belongs to user {}, not to you (user {})",
                                                        socket_path, peer.uid, ::getuid()));
  }
  return connected;
}

std::string hello_frame(wire::Role role, ProcessId process) {
  wire::Hello hello;
  hello.role = role;
  hello.pid = ::getpid();
  hello.process = process;
  hello.release = FRAY_VERSION;
  return wire::frame(ControlType::kHello, 0, hello);
}

Result<wire::Incoming> next_frame(wire::FrameSocket& socket, const Patience& patience) {
  Status ended;  // frames that arrived before the end are read first
  while (true) {
    wire::Incoming frame;
    FRAY_ASSIGN_OR_RETURN(bool more, socket.next(&frame));
    if (more) return frame;
    FRAY_RETURN_IF_ERROR(ended);
    // A broken socket is found by reading, which also returns what the node sent before.
    [[maybe_unused]] const Status flushed = socket.flush();
    const int events = socket.has_output() ? POLLIN | POLLOUT : POLLIN;
    FRAY_RETURN_IF_ERROR(wait_for(socket.fd(), static_cast<short>(events), patience));
    ended = socket.fill();
  }
}

Result<std::string> await_welcome(wire::FrameSocket& socket, const Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(wire::Incoming frame, next_frame(socket, patience));
  const auto type = static_cast<ControlType>(frame.header.type);
  if (type == ControlType::kRefused) {
    FRAY_ASSIGN_OR_RETURN(wire::Text why, wire::decode<wire::Text>(frame.body));
    return Status(why.code, "the node refused the connection: " + why.text);
  }
  if (type != ControlType::kWelcome) return Status(StatusCode::kCorruption, "who listens there is no node of Fray");
  return std::string(frame.body);
}

void take_leave(const os::Fd& socket, const Patience& patience) {
  ::shutdown(socket.get(), SHUT_WR);
  char dropped[4096];
  while (wait_for(socket.get(), POLLIN, patience).is_ok()) {
    const ssize_t received = ::recv(socket.get(), dropped, sizeof(dropped), MSG_DONTWAIT);
    if (received == 0 || (received < 0 && errno != EINTR && errno != EAGAIN)) return;
  }
}

Status explain_silence(const std::string& socket_path, Status why) {
  if (why.code() == StatusCode::kTimedOut) {
    return Status(StatusCode::kTimedOut, fmt::format("the node at {} does not answer", socket_path));
  }
  if (why.code() != StatusCode::kUnavailable && why.code() != StatusCode::kCorruption) return why;
  const std::string release = release_in(std::filesystem::path(socket_path).parent_path().string());
  if (release.empty() || release == FRAY_VERSION) {
    return Status(why.code(), fmt::format("the node at {} does not let us in: {}", socket_path, why.message()));
  }
  return Status(StatusCode::kVersionMismatch,
                fmt::format("client {}, node {} at {}: both must come from the same Fray release; `fray stop` ends the "
                            "node, whatever its release",
                            FRAY_VERSION, release, socket_path));
}

}  // namespace fray::door
