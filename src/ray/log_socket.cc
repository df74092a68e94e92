#include "ray/log_socket.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "http_client/answer_reader.h"
#include "http_client/exchange.h"
#include "ray/refusal.h"

namespace fray::ray {

using http_client::Connection;

namespace {

constexpr unsigned kSwitchingProtocols = 101;

Status no_websocket(const Connection& connection, std::string_view why) {
  return Status(StatusCode::kUnavailable, fmt::format("what answers at {} does not speak WebSocket ({})",
                                                      connection.endpoint().address.text(), why));
}

}  // namespace

Result<std::unique_ptr<LogSocket>> LogSocket::open(const Endpoint& endpoint, const std::string& path) {
  std::unique_ptr<LogSocket> socket(new LogSocket(endpoint));
  FRAY_ASSIGN_OR_RETURN(socket->connection_, Connection::open(socket->endpoint_));
  FRAY_RETURN_IF_ERROR(socket->upgrade(path));
  return socket;
}

Status LogSocket::upgrade(const std::string& path) {
  const std::string key = websocket::new_key();
  connection_->begin("opening the log", endpoint_.answer_limit);
  FRAY_RETURN_IF_ERROR(connection_->write(request_head(endpoint_, "GET", path) +
                                          "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                          "Sec-WebSocket-Key: " +
                                          key + "\r\n\r\n"));
  std::string rest;
  FRAY_ASSIGN_OR_RETURN(const http_client::Answer answer, receive_answer(*connection_, true, &rest));
  if (answer.status != kSwitchingProtocols) return refusal(endpoint_, "send the log", answer.status, answer.body);
  if (answer.websocket_accept != websocket::accept_key(key)) {
    return no_websocket(*connection_, "its Sec-WebSocket-Accept is not that of our key");
  }
  messages_.add(rest);
  return Status::ok();
}

Result<std::optional<LogSocket::Arrived>> LogSocket::next() {
  while (true) {
    auto event = messages_.next();
    if (!event.is_ok()) return no_websocket(*connection_, event.status().message());
    if (!*event || (*event)->kind != Arrived::Kind::kPing) return event;
    FRAY_RETURN_IF_ERROR(connection_->write(websocket::masked(websocket::pong_frame((*event)->payload))));
  }
}

// The server's close frame is enough; this side does not wait until the server has closed the connection.
Result<LogSocket::Event> LogSocket::close(const Arrived& close) {
  if (close.code != websocket::kNormal) {
    return connection_->cut(fmt::format("the log was closed with the code {}", close.code));
  }
  (void)connection_->write(websocket::masked(websocket::close_frame(websocket::kNormal)));
  return Event::kClosed;
}

Result<LogSocket::Event> LogSocket::read(std::string* text, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  connection_->begin("reading the log", endpoint_.answer_limit);
  std::array<char, 64 << 10> room;
  while (true) {
    FRAY_ASSIGN_OR_RETURN(std::optional<Arrived> arrived, next());
    if (arrived && arrived->kind == Arrived::Kind::kClose) return close(*arrived);
    if (arrived) {
      *text = std::move(arrived->payload);
      return Event::kText;
    }
    FRAY_ASSIGN_OR_RETURN(const std::optional<std::size_t> got, connection_->read_now(room));
    if (got == std::size_t{0}) return connection_->cut("the log has no end");
    if (got) messages_.add({room.data(), *got});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= left.zero() || (!got && !connection_->wait_for_bytes(left))) return Event::kNothing;
  }
}

}  // namespace fray::ray
