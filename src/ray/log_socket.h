// LogSocket: a WebSocket on which a cluster sends a job's output as text.
//
// Threading:  one thread. read() blocks for `patience` at most.
// Ownership:  owns the connection.
// Failure:    open() returns what exchange() returns, and a refusal() when the server answers with plain HTTP. read()
//             returns kUnavailable when the connection ends without the closing handshake, because the output may be
//             incomplete then.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"
#include "http_client/connection.h"
#include "ray/endpoint.h"
#include "websocket/frames.h"

namespace fray::ray {

class LogSocket {
 public:
  enum class Event { kText, kNothing, kClosed };

  static Result<std::unique_ptr<LogSocket>> open(const Endpoint& endpoint, const std::string& path);

  // kText: one message has come and is in `*text`. kNothing: none came within `patience`.
  Result<Event> read(std::string* text, std::chrono::milliseconds patience);

 private:
  using Arrived = websocket::MessageReader::Event;

  explicit LogSocket(const Endpoint& endpoint) : endpoint_(endpoint) {}
  Status upgrade(const std::string& path);
  // The next message, or the server's close frame, among the bytes that have arrived. Pings are answered on the way.
  Result<std::optional<Arrived>> next();
  Result<Event> close(const Arrived& close);

  const Endpoint endpoint_;
  std::unique_ptr<http_client::Connection> connection_;
  websocket::MessageReader messages_{kMostMessageBytes};

  static constexpr std::size_t kMostMessageBytes = std::size_t{64} << 20;
};

}  // namespace fray::ray
