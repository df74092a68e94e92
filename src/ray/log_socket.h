// LogSocket: a WebSocket on which a cluster sends a job's output as text.
//
// Threading:  one thread; read() blocks for `patience` at most.
// Ownership:  owns the connection.
// Failure:    open() fails as exchange() does, and with the refusal of a plain HTTP answer. read() returns kUnavailable when
//             the connection was cut: without the closing handshake nothing says that the output is complete.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"
#include "ray/endpoint.h"

namespace fray::ray {

class LogSocket {
 public:
  enum class Event { kText, kNothing, kClosed };

  static Result<std::unique_ptr<LogSocket>> open(const Endpoint& endpoint, const std::string& path);
  virtual ~LogSocket() = default;

  // kText puts one message into `*text`; kNothing: none came within `patience`.
  virtual Result<Event> read(std::string* text, std::chrono::milliseconds patience) = 0;
};

}  // namespace fray::ray
