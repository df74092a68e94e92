// Roster: all connections of the node, by process number, and the listening socket that accepts them.
//
// Threading:  the node's loop.
// Ownership:  owns all connections and the listening socket. A Connection* is valid until the end of the round in which
//             the connection ended.
// Failure:    a peer of another user is disconnected before its first byte is read. A peer that breaks the format is
//             disconnected and counted. Failures of single connections never reach the node. A peer that connects while
//             the node has no descriptor left waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "event/acceptor.h"
#include "node/sessions/connection.h"
#include "os/sockets/listener.h"

namespace fray::node {

class Roster : public Connection::Owner {
 public:
  struct Counters {
    std::uint64_t accepted = 0;
    std::uint64_t foreign_users = 0;
    std::uint64_t broken_frames = 0;  // connections that were closed for a broken or forbidden frame
    std::uint64_t slow_readers = 0;
  };
  using OnFrame = std::function<Status(Connection&, wire::Incoming&)>;
  using OnEnd = std::function<void(Connection&, const Status& why)>;

  Roster(event::Loop& loop, OnFrame on_frame, OnEnd on_end);
  ~Roster() override;

  Status listen(const std::string& path);
  // Takes a connected socket; returns nullptr when the peer is not welcome or gone.
  Connection* adopt(os::Fd socket);
  // Tells the peer why, and closes the connection.
  void refuse(Connection& connection, StatusCode code, const std::string& reason);

  ProcessId new_process() { return next_process_++; }
  // From now on the connection is that of this process.
  void enter(Connection& connection, ProcessId process);
  Connection* find(ProcessId process) const;
  // Sends a message to a process. Nothing happens when the process is gone.
  template <typename Message>
  void send(ProcessId process, wire::ControlType type, std::uint64_t id, const Message& message) {
    if (Connection* connection = find(process)) connection->send(type, id, message);
  }
  std::vector<Connection*> drivers() const;
  std::vector<Connection*> clients() const;  // drivers and workers

  // Sends the messages that were queued in this round, and forgets connections that have ended.
  void end_round();
  const Counters& counters() const { return counters_; }

 private:
  Status frame_arrived(Connection& connection, wire::Incoming& frame) override;
  void connection_ended(Connection& connection, const Status& why) override;
  void has_output(Connection& connection) override { to_flush_.push_back(&connection); }

  event::Loop& loop_;
  OnFrame on_frame_;
  OnEnd on_end_;
  std::optional<os::Listener> listener_;
  event::Acceptor acceptor_;  // of the listening socket
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
  std::unordered_map<ProcessId, Connection*> by_process_;
  std::vector<std::unique_ptr<Connection>> ended_;
  std::vector<Connection*> to_flush_;
  ProcessId next_process_ = 1;
  Counters counters_;
};

}  // namespace fray::node
