#include "ray/http_exchange.h"

#include <array>

#include <unistd.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "ray/http_connection.h"

namespace fray::ray {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::uint64_t kSlowestBytesPerSecond = 1 << 20;  // of an upload
constexpr std::uint32_t kMostHeaderBytes = 64 << 10;

std::string head_of(const Endpoint& endpoint, const Request& request) {
  const std::uint64_t size = request.file >= 0 ? request.file_bytes : request.body.size();
  std::string head = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: fray/" FRAY_VERSION
                                 "\r\nAccept: */*\r\nConnection: close\r\n",
                                 request.method, endpoint.address.prefix, request.path, endpoint.address.authority());
  if (!endpoint.token.value.empty()) head += "Authorization: Bearer " + endpoint.token.value + "\r\n";
  if (size > 0) {
    head += fmt::format("Content-Type: application/{}\r\n", request.file >= 0 ? "octet-stream" : "json");
  }
  if (request.method != "GET") head += fmt::format("Content-Length: {}\r\n", size);
  return head + "\r\n";
}

// One request on a stream that is connected.
template <typename Stream>
class Conversation {
 public:
  Conversation(HttpConnection& connection, Stream& stream) : connection_(connection), stream_(stream) {}

  Result<Answer> run(const Request& request, bool* arrived) {
    const ErrorCode sent = send(request);
    *arrived = true;
    if (sent == beast::error::timeout || sent == asio::error::operation_aborted) {
      return connection_.failure("sending", sent);
    }
    // A server that refuses a body says so before it has read it, and closes.
    Result<Answer> answer = receive(request);
    if (sent && !answer.is_ok()) return connection_.failure("sending", sent);
    return answer;
  }

 private:
  template <typename Buffers>
  ErrorCode write(const Buffers& buffers) {
    return connection_.wait(beast::get_lowest_layer(stream_),
                            [&](auto handler) { asio::async_write(stream_, buffers, std::move(handler)); });
  }

  ErrorCode send(const Request& request) {
    const auto upload = std::chrono::seconds(request.file_bytes / kSlowestBytesPerSecond);
    beast::get_lowest_layer(stream_).expires_after(connection_.endpoint().answer_limit + upload);
    const std::string head = head_of(connection_.endpoint(), request);
    if (request.file < 0) return write(std::array{asio::buffer(head), asio::buffer(request.body)});
    if (ErrorCode error = write(asio::buffer(head))) return error;
    std::string chunk(kChunk, '\0');
    for (std::uint64_t offset = 0; offset < request.file_bytes;) {
      const ssize_t got = ::pread(request.file, chunk.data(), chunk.size(), static_cast<off_t>(offset));
      if (got <= 0) return asio::error::eof;
      if (ErrorCode error = write(asio::buffer(chunk.data(), static_cast<std::size_t>(got)))) return error;
      offset += static_cast<std::uint64_t>(got);
    }
    return {};
  }

  Result<Answer> receive(const Request& request) {
    http::response_parser<http::string_body> parser;
    parser.body_limit(connection_.endpoint().most_answer_bytes);
    parser.header_limit(kMostHeaderBytes);
    if (request.method == "HEAD") parser.skip(true);
    beast::flat_buffer buffer;
    beast::get_lowest_layer(stream_).expires_after(connection_.endpoint().answer_limit);
    const ErrorCode error = connection_.wait(beast::get_lowest_layer(stream_), [&](auto handler) {
      http::async_read(stream_, buffer, parser, std::move(handler));
    });
    if (error) return connection_.failure("waiting for the answer", error);
    auto& message = parser.get();
    return Answer{message.result_int(), std::string(message[http::field::content_type]), std::move(message.body())};
  }

  HttpConnection& connection_;
  Stream& stream_;
};

}  // namespace

Result<Answer> exchange(const Endpoint& endpoint, const Request& request, bool* arrived) {
  *arrived = false;
  HttpConnection connection(endpoint);
  if (!endpoint.address.tls) {
    PlainStream stream(connection.loop());
    FRAY_RETURN_IF_ERROR(connection.connect(stream));
    return Conversation<PlainStream>(connection, stream).run(request, arrived);
  }
  FRAY_ASSIGN_OR_RETURN(auto context, connection.tls_context());
  TlsStream stream(connection.loop(), *context);
  FRAY_RETURN_IF_ERROR(connection.connect(beast::get_lowest_layer(stream)));
  FRAY_RETURN_IF_ERROR(connection.shake_hands(stream));
  return Conversation<TlsStream>(connection, stream).run(request, arrived);
}

std::string path_segment(std::string_view text) {
  std::string segment;
  for (char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '~';
    // A dot alone would be a folder.
    if (plain || (c == '.' && text.size() > 2)) {
      segment += c;
    } else {
      segment += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return segment;
}

}  // namespace fray::ray
