#include "http_client/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "http_client/tls_session.h"

namespace fray::http_client {

namespace {

constexpr std::chrono::milliseconds kBetweenQuestions{100};  // between two checks whether to give up

// With these a server that has vanished without closing is noticed within about a minute.
void watch_for_silence(int fd) {
  auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof(value)); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 20);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

// Rounded up: a wait that ends too early would be followed by many waits of 0 ms.
int poll_time(std::chrono::steady_clock::duration length) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(std::max(length, length.zero())).count());
}

}  // namespace

Connection::Connection(const Endpoint& endpoint) : endpoint_(endpoint) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const Endpoint& endpoint) {
  std::unique_ptr<Connection> connection(new Connection(endpoint));
  connection->begin("connecting", endpoint.connect_limit);
  FRAY_RETURN_IF_ERROR(connection->connect());
  if (endpoint.address.tls) FRAY_RETURN_IF_ERROR(connection->start_tls());
  return connection;
}

void Connection::begin(std::string_view what, std::chrono::milliseconds limit) {
  what_ = what;
  limit_ = Clock::now() + limit;
}

Status Connection::cut(std::string_view why) const {
  return Status(StatusCode::kUnavailable,
                fmt::format("{}: the connection was cut while {}: {}", endpoint_.address.text(), what_, why));
}

// ---- Connecting

Status Connection::connect() {
  const Address& address = endpoint_.address;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found); code != 0) {
    return Status(StatusCode::kUnavailable,
                  fmt::format("the host {} of {} is not known: {}; check the address", address.host, address.text(),
                              code == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(code)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int error = 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    FRAY_RETURN_IF_ERROR(try_address(*each, &error));
    if (error == 0) {
      watch_for_silence(socket_.get());
      return Status::ok();
    }
  }
  if (error != ECONNREFUSED) return cut(std::strerror(error));
  return Status(StatusCode::kUnavailable, fmt::format("nobody listens at {}: the connection was refused; {}?",
                                                      address.text(), endpoint_.service.is_it_up));
}

// `*error` is the error of this address, after which the next one is tried. An error that ends all tries is returned.
Status Connection::try_address(const addrinfo& address, int* error) {
  socket_ =
      os::Fd(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
  *error = 0;
  if (!socket_.is_open()) {
    *error = errno;
    return Status::ok();
  }
  if (::connect(socket_.get(), address.ai_addr, address.ai_addrlen) == 0) return Status::ok();
  *error = errno;
  if (*error != EINPROGRESS && *error != EINTR) return Status::ok();
  FRAY_RETURN_IF_ERROR(wait(POLLOUT));
  socklen_t size = sizeof(*error);
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, error, &size) != 0) *error = errno;
  return Status::ok();
}

Status Connection::start_tls() {
  FRAY_ASSIGN_OR_RETURN(auto session, TlsSession::create(endpoint_));
  begin("agreeing on TLS", endpoint_.connect_limit);
  std::array<char, 16 << 10> room;
  while (true) {
    Result<bool> done = session->shake_hands();
    // Send the alert that tells the other side why.
    const Status sent = send(session->take_to_send());
    FRAY_RETURN_IF_ERROR(done.status());
    FRAY_RETURN_IF_ERROR(sent);
    if (*done) break;
    FRAY_RETURN_IF_ERROR(wait(POLLIN));
    FRAY_ASSIGN_OR_RETURN(const std::optional<std::size_t> got, receive(room));
    if (got) session->add_received({room.data(), *got});
    if (got == std::size_t{0}) session->end_received();
  }
  tls_ = std::move(session);
  return Status::ok();
}

// ---- The socket

Status Connection::wait(short events) const {
  while (true) {
    const auto left = limit_ - Clock::now();
    pollfd watched{socket_.get(), events, 0};
    const int ready = ::poll(&watched, 1, poll_time(std::min<Clock::duration>(left, kBetweenQuestions)));
    if (ready > 0) return Status::ok();
    if (ready < 0 && errno != EINTR) return Status::io_error("waiting for " + endpoint_.address.text(), errno);
    if (endpoint_.interrupted && endpoint_.interrupted()) {
      return Status(StatusCode::kCancelled, fmt::format("interrupted while waiting for {}", endpoint_.address.text()));
    }
    if (left <= left.zero()) {
      return Status(StatusCode::kTimedOut, fmt::format("{} does not answer ({} took too long); {}?",
                                                       endpoint_.address.text(), what_, endpoint_.service.is_it_busy));
    }
  }
}

Status Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      FRAY_RETURN_IF_ERROR(wait(POLLOUT));
    } else if (errno != EINTR) {
      return cut(std::strerror(errno));
    }
  }
  return Status::ok();
}

Result<std::optional<std::size_t>> Connection::receive(std::span<char> room) {
  while (true) {
    const ssize_t got = ::recv(socket_.get(), room.data(), room.size(), 0);
    if (got >= 0) return std::optional<std::size_t>(static_cast<std::size_t>(got));
    if (errno == EAGAIN) return std::optional<std::size_t>();
    if (errno != EINTR) return cut(std::strerror(errno));
  }
}

// ---- Bytes

Status Connection::write(std::string_view bytes) {
  if (!tls_) return send(bytes);
  FRAY_RETURN_IF_ERROR(tls_->write(bytes));
  return send(tls_->take_to_send());
}

Result<std::optional<std::size_t>> Connection::read_now(std::span<char> room) {
  if (!tls_) return receive(room);
  std::array<char, 16 << 10> encrypted;
  while (true) {
    FRAY_ASSIGN_OR_RETURN(const std::optional<std::size_t> got, tls_->read(room));
    FRAY_RETURN_IF_ERROR(send(tls_->take_to_send()));  // the acknowledgement of new keys
    if (got) return got;
    FRAY_ASSIGN_OR_RETURN(const std::optional<std::size_t> taken, receive(encrypted));
    if (!taken) return std::optional<std::size_t>();
    if (*taken > 0) tls_->add_received({encrypted.data(), *taken});
    if (*taken == 0) tls_->end_received();
  }
}

Result<std::size_t> Connection::read(std::span<char> room) {
  while (true) {
    FRAY_ASSIGN_OR_RETURN(const std::optional<std::size_t> got, read_now(room));
    if (got) return *got;
    FRAY_RETURN_IF_ERROR(wait(POLLIN));
  }
}

bool Connection::wait_for_bytes(std::chrono::milliseconds patience) const {
  pollfd watched{socket_.get(), POLLIN, 0};
  return ::poll(&watched, 1, poll_time(patience)) > 0;
}

}  // namespace fray::http_client
