#include "node/sessions/roster.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace fray::node {

Roster::Roster(event::Loop& loop, OnFrame on_frame, OnEnd on_end)
    : loop_(loop), on_frame_(std::move(on_frame)), on_end_(std::move(on_end)), acceptor_(loop) {}

Roster::~Roster() = default;

Status Roster::listen(const std::string& path) {
  FRAY_ASSIGN_OR_RETURN(os::Listener listener, os::Listener::listen(path));
  listener_.emplace(std::move(listener));
  return acceptor_.start(listener_->fd(), [this](os::Fd socket) { adopt(std::move(socket)); });
}

Connection* Roster::adopt(os::Fd socket) {
  auto peer = os::peer_of(socket.get());
  if (!peer.is_ok() || !peer->alive) return nullptr;
  if (peer->uid != ::getuid()) {
    ++counters_.foreign_users;
    return nullptr;
  }
  ++counters_.accepted;
  // The node made this socket pair itself, for a worker, whose end it notices by other means.
  if (peer->pid == ::getpid()) peer->pidfd.reset();
  auto connection = std::make_unique<Connection>(loop_, *this, std::move(socket), std::move(*peer));
  Connection* raw = connection.get();
  if (!raw->start().is_ok()) return nullptr;
  connections_[raw] = std::move(connection);
  return raw;
}

void Roster::refuse(Connection& connection, StatusCode code, const std::string& reason) {
  connection.send(wire::ControlType::kRefused, 0, wire::Text{code, reason});
  connection.flush();
  connection.end(Status(StatusCode::kUnavailable, reason));
}

void Roster::enter(Connection& connection, ProcessId process) {
  connection.greeted = true;
  connection.process = process;
  by_process_[process] = &connection;
}

Connection* Roster::find(ProcessId process) const {
  auto found = by_process_.find(process);
  return found == by_process_.end() ? nullptr : found->second;
}

std::vector<Connection*> Roster::clients() const {
  std::vector<Connection*> found;
  for (const auto& [process, connection] : by_process_) {
    if (connection->role != wire::Role::kObserver) found.push_back(connection);
  }
  return found;
}

std::vector<Connection*> Roster::drivers() const {
  std::vector<Connection*> drivers;
  for (const auto& [process, connection] : by_process_) {
    if (connection->role == wire::Role::kDriver) drivers.push_back(connection);
  }
  return drivers;
}

void Roster::end_round() {
  // A failed flush ends its connection, which may give other connections something to send.
  while (!to_flush_.empty()) {
    for (Connection* connection : std::exchange(to_flush_, {})) connection->flush();
  }
  ended_.clear();
}

Status Roster::frame_arrived(Connection& connection, wire::Incoming& frame) { return on_frame_(connection, frame); }

void Roster::connection_ended(Connection& connection, const Status& why) {
  if (why.code() == StatusCode::kCorruption || why.code() == StatusCode::kInvalidArgument) ++counters_.broken_frames;
  if (why.code() == StatusCode::kResourceExhausted) ++counters_.slow_readers;
  if (auto found = by_process_.find(connection.process); found != by_process_.end() && found->second == &connection) {
    by_process_.erase(found);
  }
  auto owned = connections_.find(&connection);
  if (owned != connections_.end()) {
    ended_.push_back(std::move(owned->second));
    connections_.erase(owned);
  }
  on_end_(connection, why);
}

}  // namespace fray::node
