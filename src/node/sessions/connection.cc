#include "node/sessions/connection.h"

#include <fmt/format.h>

namespace fray::node {

namespace {
constexpr std::size_t kLargeFrame = 1u << 20;
constexpr std::size_t kReadLimit = 256u << 10;  // per round, so that a busy peer does not keep others waiting
constexpr int kDrainReads = 256;                // per drain: another process may hold the socket and write without end
}  // namespace

Connection::Connection(event::Loop& loop, Owner& owner, os::Fd socket, os::Peer peer)
    : loop_(loop), owner_(owner), socket_(std::move(socket)), peer_(std::move(peer)) {}

Connection::~Connection() {
  if (ended_) return;
  loop_.remove(socket_.fd());
  if (peer_.pidfd.is_open()) loop_.remove(peer_.pidfd.get());
}

Status Connection::start() {
  FRAY_RETURN_IF_ERROR(loop_.add(socket_.fd(), EPOLLIN, [this](std::uint32_t events) { ready(events); }));
  if (!peer_.pidfd.is_open()) return Status::ok();
  return loop_.add(peer_.pidfd.get(), EPOLLIN, [this](std::uint32_t) {
    drain();
    end(Status(StatusCode::kUnavailable, "the process has ended"));
  });
}

void Connection::send_frame(std::string_view frame, std::vector<os::Fd> fds) {
  if (ended_) return;
  if (frame.size() >= kLargeFrame) large_bytes_ += frame.size();
  if (fds.empty()) {
    socket_.queue(frame);
  } else {
    socket_.queue(frame, std::move(fds));
  }
  if (waits_for_flush_) return;
  waits_for_flush_ = true;
  owner_.has_output(*this);
}

void Connection::flush() {
  waits_for_flush_ = false;
  if (ended_) return;
  if (Status sent = socket_.flush(); !sent.is_ok()) return end(sent);
  if (!socket_.has_output()) large_bytes_ = 0;
  if (socket_.output_bytes() > kMostBacklog + large_bytes_) {
    return end(Status(StatusCode::kResourceExhausted,
                      fmt::format("process {} does not read: {} bytes wait for it", pid, socket_.output_bytes())));
  }
  if (socket_.has_output() == watches_output_) return;
  watches_output_ = socket_.has_output();
  loop_.change(socket_.fd(), watches_output_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Connection::ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if (!ended_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read();
}

void Connection::read() {
  if (!read_some()) loop_.leave_rest();
}

// False when there may be more to read.
bool Connection::read_some() {
  bool drained = false;
  Status filled = socket_.fill(kReadLimit, &drained);
  reading_ = true;
  wire::Incoming frame;
  while (!ended_) {
    auto next = socket_.next(&frame);
    if (next.is_ok() && !*next) break;
    Status handled = next.is_ok() ? owner_.frame_arrived(*this, frame) : next.status();
    if (!handled.is_ok()) end(handled);
  }
  reading_ = false;
  if (!ended_ && !filled.is_ok()) end(filled);
  return drained || ended_;
}

void Connection::drain() {
  if (reading_) return;
  for (int reads = 0; reads < kDrainReads && !read_some(); ++reads) {
  }
}

void Connection::end(const Status& why) {
  if (ended_) return;
  ended_ = true;
  loop_.remove(socket_.fd());
  if (peer_.pidfd.is_open()) loop_.remove(peer_.pidfd.get());
  owner_.connection_ended(*this, why);
  socket_.close();
}

}  // namespace fray::node
