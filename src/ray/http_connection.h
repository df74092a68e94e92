// HttpConnection: the part that requests and log sockets have in common: a stream to the cluster, plain or TLS, whose
// operations have limits and can be interrupted. Included by files that include Boost.Beast anyway, and by nobody else.
//
// Threading:  one thread.
// Ownership:  owns its stream and the loop that drives it.
// Failure:    as http_exchange.h.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <openssl/ssl.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "base/status.h"
#include "ray/endpoint.h"

namespace fray::ray {

using ErrorCode = boost::system::error_code;
using PlainStream = boost::beast::tcp_stream;
using TlsStream = boost::beast::ssl_stream<PlainStream>;

class HttpConnection {
 public:
  explicit HttpConnection(const Endpoint& endpoint) : endpoint_(endpoint) {}

  // Starts an operation with a handler and runs the loop until it was called. The stream's own limits end it.
  template <typename Start>
  ErrorCode wait(PlainStream& stream, Start start) {
    std::optional<ErrorCode> outcome;
    start([&outcome](ErrorCode error, auto&&...) { outcome = error; });
    bool given_up = false;
    loop_.restart();
    while (!outcome) {
      loop_.run_one_for(kSlice);
      if (loop_.stopped()) loop_.restart();
      if (!outcome && !given_up && is_interrupted()) {
        given_up = true;
        stream.close();
      }
    }
    return given_up ? ErrorCode(boost::asio::error::operation_aborted) : *outcome;
  }

  Status connect(PlainStream& stream);
  Status shake_hands(TlsStream& stream);
  Result<std::unique_ptr<boost::asio::ssl::context>> tls_context() const;

  // What an error means to the caller, who was about to do `what`.
  Status failure(std::string_view what, ErrorCode error) const;
  bool is_interrupted() const { return endpoint_.interrupted && endpoint_.interrupted(); }

  const Endpoint& endpoint() const { return endpoint_; }
  boost::asio::io_context& loop() { return loop_; }

 private:
  static constexpr std::chrono::milliseconds kSlice{100};

  const Endpoint& endpoint_;
  boost::asio::io_context loop_{1};
};

}  // namespace fray::ray
