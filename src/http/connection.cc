#include "http/connection.h"

#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace fray::http {

namespace {

constexpr std::size_t kChunk = 64 << 10;
constexpr std::size_t kMostAhead = 256 << 10;  // bytes read before they are needed

}  // namespace

void Responder::respond(const Response& response) const {
  if (auto connection = connection_.lock()) connection->respond(request_, response);
}

void Responder::when_gone(std::function<void()> on_gone) const {
  if (auto connection = connection_.lock()) return connection->when_gone(request_, std::move(on_gone));
  on_gone();
}

void Responder::stream(const Response& head, std::shared_ptr<Stream> stream) const {
  if (auto connection = connection_.lock()) connection->stream(request_, head, std::move(stream));
}

Connection::Connection(event::Loop& loop, Owner& owner, os::Fd socket)
    : loop_(loop), owner_(owner), socket_(std::move(socket)) {}

Connection::~Connection() {
  loop_.cancel(timer_);
  if (socket_.is_open()) loop_.remove(socket_.get());
}

Status Connection::start() {
  watched_ = EPOLLIN;
  FRAY_RETURN_IF_ERROR(loop_.add(socket_.get(), watched_, [this](std::uint32_t events) {
    const auto self = shared_from_this();
    ready(events);
  }));
  limit(kHeadLimit);
  return Status::ok();
}

void Connection::limit(std::chrono::nanoseconds time) {
  loop_.cancel(std::exchange(timer_, 0));
  if (time.count() == 0) return;
  timer_ = loop_.after(time, [this] {
    timer_ = 0;
    const auto self = shared_from_this();
    const bool mid_request = state_ == State::kReading && parser_.has_begun();
    if (mid_request) return refuse(error_response(408, "too slow", "the request did not arrive in time"));
    end();
  });
}

void Connection::end() {
  if (std::exchange(state_, State::kEnded) == State::kEnded) return;
  loop_.cancel(std::exchange(timer_, 0));
  loop_.remove(socket_.get());
  socket_.reset();
  gone();
  if (const auto stream = std::exchange(stream_, nullptr)) stream->abandoned();
  owner_.connection_ended(*this);
}

void Connection::ready(std::uint32_t events) {
  if ((events & EPOLLERR) != 0) return end();
  if ((events & EPOLLOUT) != 0) write();
  if (state_ != State::kEnded && (events & (EPOLLIN | EPOLLHUP)) != 0) read();
}

void Connection::read() {
  std::array<char, kChunk> chunk;
  const ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    // A client that closed its side after its request may still want the answer.
    half_closed_ = true;
    gone();
    if (got < 0 || state_ == State::kReading || state_ == State::kStreaming) return end();
    return watch();
  }
  const std::string_view bytes(chunk.data(), static_cast<std::size_t>(got));
  if (state_ == State::kStreaming) {
    const std::shared_ptr<Stream> kept = stream_;
    return kept->received(bytes);
  }
  in_.append(bytes);
  parse();
}

void Connection::parse() {
  if (std::exchange(parsing_, true)) return;
  while (state_ == State::kReading) {
    const bool fresh = !parser_.has_begun();
    const RequestParser::Progress progress = parser_.advance(in_);
    if (sink_ && progress != RequestParser::Progress::kBad && !drain()) continue;
    if (progress == RequestParser::Progress::kMore) {
      if (fresh && parser_.has_begun()) limit(kHeadLimit);
      break;
    }
    if (progress == RequestParser::Progress::kBad) {
      refuse(parser_.problem());
    } else if (progress == RequestParser::Progress::kHead) {
      head_arrived();
    } else {
      limit({});
      state_ = State::kHandling;
      parser_.request().sink = std::exchange(sink_, nullptr);
      owner_.handle(std::move(parser_.request()), Responder(weak_from_this(), ++request_));
    }
  }
  parsing_ = false;
  watch();
}

void Connection::head_arrived() {
  if (auto refusal = owner_.refuse(parser_.request())) return refuse(*refusal);
  known_ = known_ || owner_.shows_who_asks(parser_.request());
  auto sink = owner_.sink_of(parser_.request());
  if (!sink.is_ok()) return refuse(error_response(sink.status()));
  sink_ = std::move(sink).value();
  limit(kBodyLimit);
  if (parser_.wants_continue()) {
    out_ += "HTTP/1.1 100 Continue\r\n\r\n";
    write();
  }
}

// Passes on the bytes of an upload. False: the upload is refused.
bool Connection::drain() {
  const std::string bytes = parser_.take_body();
  if (bytes.empty()) return true;
  limit(kBodyLimit);  // per part: a large package may take long as long as bytes arrive
  Status written = sink_->write(bytes);
  if (written.is_ok()) return true;
  refuse(error_response(written));
  return false;
}

// The rest of the request is not read, so the connection cannot be used again.
void Connection::refuse(const Response& response) {
  sink_.reset();
  state_ = State::kHandling;
  close_after_ = true;
  respond(++request_, response);
}

void Connection::when_gone(std::uint64_t request, std::function<void()> on_gone) {
  if (request != request_ || state_ != State::kHandling) return;
  on_gone_ = std::move(on_gone);
  if (half_closed_) gone();
}

void Connection::gone() {
  if (const auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
}

void Connection::respond(std::uint64_t request, const Response& response) {
  if (request != request_ || state_ != State::kHandling) return;
  on_gone_ = nullptr;
  const bool keeps = parser_.keeps_alive() && !close_after_ && !half_closed_;
  close_after_ = !keeps;
  out_ += response_head(response, keeps, true) + response.body;
  state_ = State::kWriting;
  limit(kWriteLimit);
  write();
}

void Connection::stream(std::uint64_t request, const Response& head, std::shared_ptr<Stream> stream) {
  if (request != request_ || state_ != State::kHandling) return;
  const auto self = shared_from_this();
  state_ = State::kStreaming;
  stream_ = std::move(stream);
  send(response_head(head, false, false) + head.body);
  if (state_ != State::kStreaming) return;
  const std::shared_ptr<Stream> kept = stream_;
  kept->start(*this);
  if (state_ == State::kStreaming && !in_.empty()) kept->received(std::exchange(in_, {}));
  if (state_ == State::kStreaming) watch();
}

void Connection::send(std::string_view bytes) {
  if (state_ != State::kStreaming) return;
  const auto self = shared_from_this();
  out_ += bytes;
  if (timer_ == 0) limit(kWriteLimit);
  write();
}

void Connection::finish() {
  const auto self = shared_from_this();
  close_after_ = true;
  if (state_ == State::kStreaming) write();
}

void Connection::write() {
  if (std::exchange(writing_, true)) return;
  while (socket_.is_open() && sent_ < out_.size()) {
    const ssize_t sent = ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) {
      writing_ = false;
      return end();
    }
    sent_ += static_cast<std::size_t>(sent);
    // As long as some bytes are sent, the client is not too slow.
    if (state_ == State::kWriting || state_ == State::kStreaming) limit(kWriteLimit);
  }
  writing_ = false;
  if (sent_ == out_.size()) {
    out_.clear();
    sent_ = 0;
    written();
  }
  watch();
}

void Connection::written() {
  if (state_ == State::kStreaming) {
    limit({});
    if (close_after_) return end();
    const std::shared_ptr<Stream> kept = stream_;
    return kept->drained();
  }
  if (state_ != State::kWriting) return;
  if (close_after_) {
    // With unread bytes, close() would send a reset, which can overtake the answer.
    ::shutdown(socket_.get(), SHUT_WR);
    std::array<char, kChunk> rest;
    for (int i = 0; i < 4 && ::recv(socket_.get(), rest.data(), rest.size(), MSG_DONTWAIT) > 0; ++i) continue;
    return end();
  }
  state_ = State::kReading;
  limit(kIdleLimit);
  if (!in_.empty()) parse();
}

void Connection::watch() {
  if (state_ == State::kEnded) return;
  std::uint32_t wanted = sent_ < out_.size() ? EPOLLOUT : 0u;
  const bool full = state_ != State::kReading && state_ != State::kStreaming && in_.size() > kMostAhead;
  if (!half_closed_ && !full) wanted |= EPOLLIN;
  if (wanted != watched_) loop_.change(socket_.get(), watched_ = wanted);
}

}  // namespace fray::http
