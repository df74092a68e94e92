// Connection: a stream of bytes to a server, plain or TLS, whose steps have limits and can be interrupted.
//
//   FRAY_ASSIGN_OR_RETURN(auto connection, Connection::open(endpoint));
//   connection->begin("sending", limit);
//   FRAY_RETURN_IF_ERROR(connection->write(head));
//
// Threading:  one thread; blocks for the step's limit at most. Resolving a host's name takes as long as the system lets
// it. Ownership:  owns its socket; the endpoint must outlive it. Failure:    kUnavailable: refused or cut; kTimedOut:
// the step's limit is over; kCancelled: interrupted;
//             kPermissionDenied: the certificate is not trusted.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http_client/endpoint.h"
#include "os/fd.h"

struct addrinfo;

namespace fray::http_client {

class TlsSession;

class Connection {
 public:
  static Result<std::unique_ptr<Connection>> open(const Endpoint& endpoint);
  ~Connection();

  // Begins a step: its name in errors, and the limit for all reads and writes of it.
  void begin(std::string_view what, std::chrono::milliseconds limit);

  Status write(std::string_view bytes);
  Result<std::size_t> read(std::span<char> room);  // some bytes; 0 at the end
  // The same without waiting: nothing when nothing is there.
  Result<std::optional<std::size_t>> read_now(std::span<char> room);
  // Waits for bytes or the end of the stream; false when neither came within `patience`.
  bool wait_for_bytes(std::chrono::milliseconds patience) const;

  // An error of the present step; `why` as the system or a protocol says it.
  Status cut(std::string_view why) const;
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  using Clock = std::chrono::steady_clock;

  explicit Connection(const Endpoint& endpoint);
  Status connect();
  Status try_address(const addrinfo& address, int* error);
  Status start_tls();
  Status wait(short events) const;
  Status send(std::string_view bytes);
  Result<std::optional<std::size_t>> receive(std::span<char> room);

  const Endpoint& endpoint_;
  os::Fd socket_;
  std::unique_ptr<TlsSession> tls_;
  std::string what_;
  Clock::time_point limit_;
};

}  // namespace fray::http_client
