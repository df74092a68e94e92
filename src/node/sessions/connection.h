// Connection: one control connection of the node: its frames, and the process at its other end.
//
// Threading:  the node's loop.
// Ownership:  owns its socket and the peer's pidfd; the owner (Roster) owns the connection and outlives it.
// Failure:    a connection ends once, for one reason: EOF or the peer's death, whichever is noticed first (all that the
//             peer had written is read before); a broken or forbidden frame; or a peer that does not read while more
//             than kMostBacklog bytes wait for it. Large frames do not count, because the peer asked for each of them.
//             Sending to an ended connection does nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "event/loop.h"
#include "model/ids.h"
#include "os/sockets/peer.h"
#include "wire/control.h"
#include "wire/session.h"
#include "wire/socket.h"

namespace fray::node {

class Connection {
 public:
  static constexpr std::size_t kMostBacklog = 64u << 20;

  struct Owner {
    virtual ~Owner() = default;
    // When the Status is not ok, the connection ends for this reason.
    virtual Status frame_arrived(Connection& connection, wire::Incoming& frame) = 0;
    virtual void connection_ended(Connection& connection, const Status& why) = 0;
    // Called once until the next flush().
    virtual void has_output(Connection& connection) = 0;
  };

  Connection(event::Loop& loop, Owner& owner, os::Fd socket, os::Peer peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status start();

  template <typename Message>
  void send(wire::ControlType type, std::uint64_t id, const Message& message) {
    send_frame(wire::frame(type, id, message));
  }
  template <typename Message>
  void send(wire::ControlType type, std::uint64_t id, const Message& message, os::Fd fd) {
    std::vector<os::Fd> fds;
    fds.push_back(std::move(fd));
    send_frame(wire::frame(type, id, message, 1), std::move(fds));
  }
  void send_frame(std::string_view frame, std::vector<os::Fd> fds = {});
  void flush();
  // Reads and handles all frames that have arrived.
  void drain();
  void end(const Status& why);

  // Whether a frame is being handled, behind which more may have arrived. While one is, drain() does nothing.
  bool is_reading() const { return reading_; }
  bool has_ended() const { return ended_; }
  std::size_t backlog_bytes() const { return socket_.output_bytes(); }
  pid_t peer_pid() const { return peer_.pid; }
  // Keeps the socket open after the end of the connection. Closed where there is no free descriptor.
  os::Fd copy_of_socket() const { return os::another_descriptor(socket_.fd()); }

  // Set by the owner once the peer has said hello.
  bool greeted = false;
  wire::Role role = wire::Role::kObserver;
  ProcessId process = 0;
  ProcessId job = 0;          // the home of the job that the peer is a process of; 0: none
  bool waits = false;         // that process waits
  bool holds_output = false;  // the driver has more output of workers than it can write
  std::int32_t pid = 0;

 private:
  void ready(std::uint32_t events);
  void read();
  bool read_some();

  event::Loop& loop_;
  Owner& owner_;
  wire::FrameSocket socket_;
  os::Peer peer_;
  bool ended_ = false;
  bool reading_ = false;
  bool waits_for_flush_ = false;
  bool watches_output_ = false;
  std::size_t large_bytes_ = 0;  // of large frames that were queued since the socket had taken everything
};

}  // namespace fray::node
