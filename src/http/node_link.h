// NodeLink: the HTTP server as an observer of its node: asks over the node's socket as any observer does, and is called back
// with the answers. So nothing of the node's inside is reached from here, and the node needs to know nothing of HTTP.
//
// Threading:  the loop's.
// Ownership:  owns its socket. What it was asked for is dropped with it: no callback comes any more.
// Failure:    open() as os::connect_to. When the node goes, every question still open is answered with kUnavailable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/status.h"
#include "event/loop.h"
#include "wire/control.h"
#include "wire/socket.h"

namespace fray::http {

class NodeLink {
 public:
  // The type and body of the answer. The body is valid during the call alone.
  struct Reply {
    wire::ControlType type;
    std::string_view body;
  };
  using Callback = std::function<void(Result<Reply>)>;

  static Result<std::unique_ptr<NodeLink>> open(event::Loop& loop, const std::string& socket_path);
  NodeLink(event::Loop& loop, os::Fd socket) : loop_(loop), socket_(std::move(socket)) {}
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  void ask(wire::ControlType type, Callback callback);
  template <typename Message>
  void ask(wire::ControlType type, const Message& message, Callback callback) {
    const std::uint64_t ticket = ++last_ticket_;
    waiting_.emplace(ticket, std::move(callback));
    send(wire::frame(type, ticket, message));
  }

 private:
  Status start();
  void send(std::string_view frame);
  void ready(std::uint32_t events);
  Status read();
  void answer(wire::Incoming& frame);
  void end(const Status& why);

  event::Loop& loop_;
  wire::FrameSocket socket_;
  std::unordered_map<std::uint64_t, Callback> waiting_;
  std::uint64_t last_ticket_ = 0;
  // A callback may end the link: what runs above it must see that.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace fray::http
