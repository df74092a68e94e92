#include "http/node_link.h"

#include <utility>

#include <unistd.h>

#include "os/listener.h"

namespace fray::http {

using wire::ControlType;

Result<std::unique_ptr<NodeLink>> NodeLink::open(event::Loop& loop, const std::string& socket_path) {
  FRAY_ASSIGN_OR_RETURN(os::Fd fd, os::connect_to(socket_path));
  auto link = std::make_unique<NodeLink>(loop, std::move(fd));
  FRAY_RETURN_IF_ERROR(link->start());
  return link;
}

NodeLink::~NodeLink() {
  *alive_ = false;
  if (socket_.is_open()) loop_.remove(socket_.fd());
}

Status NodeLink::start() {
  FRAY_RETURN_IF_ERROR(loop_.add(socket_.fd(), EPOLLIN, [this](std::uint32_t events) { ready(events); }));
  wire::Hello hello;
  hello.role = wire::Role::kObserver;
  hello.pid = ::getpid();
  hello.release = FRAY_VERSION;
  send(wire::frame(ControlType::kHello, 0, hello));
  return Status::ok();
}

void NodeLink::ask(ControlType type, Callback callback) {
  const std::uint64_t ticket = ++last_ticket_;
  waiting_.emplace(ticket, std::move(callback));
  send(wire::frame(type, ticket));
}

void NodeLink::send(std::string_view frame) {
  if (!socket_.is_open()) {
    // Not from inside the question: callers do not expect the answer before ask() returns.
    loop_.after({}, [this, alive = alive_] {
      if (*alive) end(Status(StatusCode::kUnavailable, "the node has gone"));
    });
    return;
  }
  socket_.queue(frame);
  // What does not go at once goes when the socket can take it; so do failures.
  (void)socket_.flush();
  loop_.change(socket_.fd(), socket_.has_output() ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void NodeLink::ready(std::uint32_t) {
  const std::shared_ptr<bool> alive = alive_;
  Status read_all = read();
  if (!*alive) return;
  if (read_all.is_ok()) read_all = socket_.flush();
  if (!read_all.is_ok()) return end(read_all);
  loop_.change(socket_.fd(), socket_.has_output() ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

Status NodeLink::read() {
  const std::shared_ptr<bool> alive = alive_;
  bool drained = false;
  Status filled = socket_.fill(1u << 20, &drained);
  if (!drained) loop_.leave_rest();
  wire::Incoming frame;
  while (true) {
    FRAY_ASSIGN_OR_RETURN(bool more, socket_.next(&frame));
    if (!more) return filled;
    answer(frame);
    if (!*alive) return Status::ok();
  }
}

void NodeLink::answer(wire::Incoming& frame) {
  auto waiting = waiting_.find(frame.header.id);
  if (waiting == waiting_.end()) return;  // the welcome
  const Callback callback = std::move(waiting->second);
  waiting_.erase(waiting);
  callback(Reply{static_cast<ControlType>(frame.header.type), frame.body});
}

void NodeLink::end(const Status& why) {
  const std::shared_ptr<bool> alive = alive_;
  if (socket_.is_open()) {
    loop_.remove(socket_.fd());
    socket_.close();
  }
  while (*alive && !waiting_.empty()) {
    const Callback callback = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    callback(Status(StatusCode::kUnavailable, "the node has gone: " + why.message()));
  }
}

}  // namespace fray::http
