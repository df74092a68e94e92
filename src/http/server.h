// Server: serves the HTTP API of a started node: a listening socket on loopback, and its connections.
//
// Threading:  the loop's.
// Ownership:  owns the listener and all connections; sessions and routes are the caller's and outlive it.
// Failure:    start() returns kIoError when there is no port. Beyond kMostConnections, and while the node has no
//             descriptors left, the oldest connection whose client has not shown a token is closed to make room. When
//             all have shown one, the newest beyond kMostConnections is closed; without a free descriptor new clients
//             wait.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "event/acceptor.h"
#include "http/connection.h"
#include "http/guard.h"
#include "http/route_table.h"

namespace fray::http {

class Server : private Connection::Owner {
 public:
  static constexpr std::size_t kMostConnections = 256;

  // `port` 0: any that is free. The sessions are told which it became.
  static Result<std::unique_ptr<Server>> start(event::Loop& loop, std::uint16_t port, std::string token,
                                               Sessions& sessions, const RouteTable& routes);
  ~Server() override;

  std::uint16_t port() const { return port_; }
  std::string url() const;
  std::size_t connection_count() const { return connections_.size(); }

 private:
  Server(event::Loop& loop, os::Fd listener, std::uint16_t port, std::string token, Sessions& sessions,
         const RouteTable& routes)
      : loop_(loop),
        listener_(std::move(listener)),
        acceptor_(loop),
        port_(port),
        guard_(std::move(token), port, sessions),
        routes_(routes) {}

  std::optional<Response> refuse(const Request& request) override {
    return guard_.refuse(request, [&] { return routes_.access_of(request); });
  }
  bool shows_who_asks(const Request& request) override { return guard_.shows_who_asks(request); }
  void handle(Request request, Responder responder) override { routes_.handle(std::move(request), responder); }
  Result<std::shared_ptr<BodySink>> sink_of(const Request& request) override { return routes_.sink_of(request); }
  void connection_ended(Connection& connection) override;
  void accept(os::Fd socket);
  bool end_a_stranger();

  event::Loop& loop_;
  os::Fd listener_;
  event::Acceptor acceptor_;  // at that socket
  std::uint16_t port_;
  Guard guard_;
  const RouteTable& routes_;
  std::deque<std::shared_ptr<Connection>> connections_;  // the oldest first
};

}  // namespace fray::http
