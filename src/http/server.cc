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
constexpr std::chrono::milliseconds kPause{100};  // when descriptors have run out

}  // namespace

Result<std::unique_ptr<Server>> Server::start(event::Loop& loop, std::uint16_t port, std::string token,
                                              const RouteTable& routes) {
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
  std::unique_ptr<Server> server(new Server(loop, std::move(listener), ntohs(name.sin_port), std::move(token), routes));
  Server* self = server.get();
  FRAY_RETURN_IF_ERROR(loop.add(self->listener_.get(), EPOLLIN, [self](std::uint32_t) { self->accept(); }));
  return server;
}

Server::~Server() {
  loop_.remove(listener_.get());
  while (!connections_.empty()) connections_.back()->end();
}

std::string Server::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

bool Server::make_room() {
  if (connections_.size() < kMostConnections) return true;
  auto stranger = std::find_if(connections_.begin(), connections_.end(),
                               [](const auto& connection) { return !connection->is_known(); });
  if (stranger == connections_.end()) return false;
  const std::shared_ptr<Connection> kept = *stranger;
  kept->end();
  return true;
}

void Server::accept() {
  os::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.is_open()) {
    if (errno != EMFILE && errno != ENFILE) return;
    // Nothing else would end the listener's readiness: it rests for a moment.
    if (make_room()) return;
    loop_.change(listener_.get(), 0);
    loop_.after(kPause, [fd = listener_.get(), &loop = loop_] { loop.change(fd, EPOLLIN); });
    return;
  }
  if (!make_room()) return;
  const int yes = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  auto connection = std::make_shared<Connection>(loop_, static_cast<Connection::Owner&>(*this), std::move(fd));
  if (connection->start().is_ok()) connections_.push_back(std::move(connection));
}

void Server::connection_ended(Connection& connection) {
  auto found = std::find_if(connections_.begin(), connections_.end(),
                            [&](const auto& each) { return each.get() == &connection; });
  if (found != connections_.end()) connections_.erase(found);
}

}  // namespace fray::http
