#include "http_client/answer_reader.h"

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace fray::http_client {

namespace http = boost::beast::http;

namespace {

using ErrorCode = boost::beast::error_code;

constexpr std::size_t kChunk = std::size_t{64} << 10;
constexpr std::uint32_t kMostHeaderBytes = 64 << 10;

// The error for bytes that the parser refuses.
Status refused(const Connection& connection, const ErrorCode& error) {
  const Endpoint& endpoint = connection.endpoint();
  const std::string where = endpoint.address.text();
  if (error == http::error::body_limit || error == http::error::header_limit) {
    return Status(StatusCode::kResourceExhausted,
                  fmt::format("the answer of {} is larger than {} bytes; raise the limit, or ask for less", where,
                              endpoint.most_answer_bytes));
  }
  return Status(StatusCode::kUnavailable, fmt::format("what answers at {} does not speak HTTP ({}); {}?", where,
                                                      error.message(), endpoint.service.is_it_the_port));
}

Status cut_short(const Connection& connection, bool anything_came) {
  if (anything_came) return connection.cut("the answer is not whole");
  const bool wants_tls_perhaps = !connection.endpoint().address.tls;
  return connection.cut(wants_tls_perhaps ? "there was no answer; if that port speaks TLS, write https://"
                                          : "there was no answer");
}

}  // namespace

Result<Answer> receive_answer(Connection& connection, bool has_body, std::string* rest) {
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(connection.endpoint().most_answer_bytes);
  parser.header_limit(kMostHeaderBytes);
  parser.skip(!has_body);
  std::string in;  // not parsed yet
  std::string chunk(kChunk, '\0');
  while (!parser.is_done()) {
    FRAY_ASSIGN_OR_RETURN(const std::size_t got, connection.read(chunk));
    ErrorCode error;
    if (got == 0) {
      if (!parser.got_some()) return cut_short(connection, false);
      parser.put_eof(error);  // the end of the connection ends a body without a length
      if (error) return cut_short(connection, true);
      break;
    }
    in.append(chunk, 0, got);
    // One call parses as much as it can, but only one piece of a chunked body.
    for (bool goes_on = true; goes_on && !in.empty() && !parser.is_done();) {
      const std::size_t taken = parser.put(boost::asio::buffer(in), error);
      in.erase(0, taken);
      goes_on = !error && taken > 0;
    }
    if (error && error != http::error::need_more) return refused(connection, error);
  }
  if (rest != nullptr) *rest = std::move(in);
  auto& message = parser.get();
  return Answer{message.result_int(), std::string(message[http::field::content_type]),
                std::string(message[http::field::sec_websocket_accept]), std::move(message.body())};
}

}  // namespace fray::http_client
