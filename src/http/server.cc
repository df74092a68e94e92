#include "http/server.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace fray::http {

namespace {

constexpr int kBacklog = 128;

}  // namespace

Result<std::unique_ptr<Server>> Server::start(event::Loop& loop, std::uint16_t port, std::string token,
                                              Sessions& sessions, const RouteTable& routes) {
  os::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.is_open()) return Status::io_error("cannot make the socket of the HTTP API", errno);
  const int yes = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(name);
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&name), size) != 0 ||
      ::listen(listener.get(), kBacklog) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return Status::io_error(fmt::format("the HTTP API cannot listen at 127.0.0.1:{}", port), errno);
  }
  sessions.set_port(ntohs(name.sin_port));
  std::unique_ptr<Server> server(
      new Server(loop, std::move(listener), ntohs(name.sin_port), std::move(token), sessions, routes));
  Server* self = server.get();
  FRAY_RETURN_IF_ERROR(self->acceptor_.start(
      self->listener_.get(), [self](os::Fd socket) { self->accept(std::move(socket)); },
      [self] { self->end_a_stranger(); }));
  return server;
}

Server::~Server() {
  while (!connections_.empty()) connections_.back()->end();
}

std::string Server::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

bool Server::end_a_stranger() {
  auto stranger = std::find_if(connections_.begin(), connections_.end(),
                               [](const auto& connection) { return !connection->is_known(); });
  if (stranger == connections_.end()) return false;
  const std::shared_ptr<Connection> kept = *stranger;
  kept->end();
  return true;
}

void Server::accept(os::Fd socket) {
  if (connections_.size() >= kMostConnections && !end_a_stranger()) return;
  const int yes = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  auto connection = std::make_shared<Connection>(loop_, static_cast<Connection::Owner&>(*this), std::move(socket));
  if (connection->start().is_ok()) connections_.push_back(std::move(connection));
}

void Server::connection_ended(Connection& connection) {
  auto found = std::find_if(connections_.begin(), connections_.end(),
                            [&](const auto& each) { return each.get() == &connection; });
  if (found != connections_.end()) connections_.erase(found);
}

}  // namespace fray::http
