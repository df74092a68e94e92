#include "ray/http_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>

namespace fray::ray {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

namespace {

// A head that is gone without a word is noticed within about a minute.
void watch_for_silence(tcp::socket& socket) {
  const int fd = socket.native_handle();
  auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof(value)); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 20);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

}  // namespace

Status HttpConnection::connect(PlainStream& stream) {
  const Address& address = endpoint_.address;
  tcp::resolver resolver(loop_);
  ErrorCode error;
  auto found = resolver.resolve(address.host, address.port, error);
  if (error) {
    return Status(StatusCode::kUnavailable, fmt::format("the host {} of {} is not known: {}; check the address",
                                                        address.host, address.text(), error.message()));
  }
  stream.expires_after(endpoint_.connect_limit);
  error = wait(stream, [&](auto handler) { stream.async_connect(found, std::move(handler)); });
  if (error == asio::error::connection_refused) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("nobody listens at {}: the connection was refused; is the Ray head up, with its "
                              "dashboard (`ray start --head`, port 8265 by default), and can this machine reach it?",
                              address.text()));
  }
  if (error) return failure("connecting", error);
  watch_for_silence(stream.socket());
  return Status::ok();
}

Result<std::unique_ptr<asio::ssl::context>> HttpConnection::tls_context() const {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  ErrorCode error;
  context->set_default_verify_paths(error);
  // Where the systems keep them that the library was not built for.
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"}) {
    context->load_verify_file(file, error);
  }
  if (!endpoint_.ca_file.empty()) {
    context->load_verify_file(endpoint_.ca_file, error);
    if (error) {
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("the certificates in {} cannot be read: {}", endpoint_.ca_file, error.message()));
    }
  }
  context->set_verify_mode(endpoint_.verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
  return context;
}

Status HttpConnection::shake_hands(TlsStream& stream) {
  const std::string& host = endpoint_.address.host;
  SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
  if (endpoint_.verify) stream.set_verify_callback(asio::ssl::host_name_verification(host));
  beast::get_lowest_layer(stream).expires_after(endpoint_.connect_limit);
  const ErrorCode error = wait(beast::get_lowest_layer(stream), [&](auto handler) {
    stream.async_handshake(asio::ssl::stream_base::client, std::move(handler));
  });
  if (!error) return Status::ok();
  if (error.category() != asio::error::get_ssl_category()) return failure("the TLS handshake", error);
  const bool untrusted = ERR_GET_REASON(error.value()) == SSL_R_CERTIFICATE_VERIFY_FAILED;
  return Status(untrusted ? StatusCode::kPermissionDenied : StatusCode::kUnavailable,
                fmt::format("{}: TLS failed: {}; {}", endpoint_.address.text(), error.message(),
                            untrusted ? "name the certificate of its authority with ca_file"
                                      : "does it speak TLS at that port, or is it http://?"));
}

Status HttpConnection::failure(std::string_view what, ErrorCode error) const {
  const std::string where = endpoint_.address.text();
  if (error == beast::error::timeout) {
    return Status(StatusCode::kTimedOut,
                  fmt::format("{} does not answer ({} took too long); is the head overloaded, or the address that of "
                              "something else?",
                              where, what));
  }
  if (error == asio::error::operation_aborted) {
    return Status(StatusCode::kCancelled, fmt::format("interrupted while waiting for {}", where));
  }
  if (error == beast::http::error::body_limit || error == beast::http::error::header_limit) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("the answer of {} is larger than {} bytes; raise the limit, or ask for less", where,
                              endpoint_.most_answer_bytes));
  }
  if (error.category() == make_error_code(beast::http::error::end_of_stream).category() &&
      error != beast::http::error::end_of_stream && error != beast::http::error::partial_message) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("what answers at {} does not speak HTTP ({}); is it the port of Ray's dashboard (8265 by "
                              "default)?",
                              where, error.message()));
  }
  const bool wants_tls_perhaps = !endpoint_.address.tls && error == beast::http::error::end_of_stream;
  return Status(StatusCode::kUnavailable,
                fmt::format("{}: the connection was cut while {}: {}{}", where, what, error.message(),
                            wants_tls_perhaps ? "; if that port speaks TLS, write https://" : ""));
}

}  // namespace fray::ray
