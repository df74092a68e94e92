#include "door/observer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

#include "base/amount_text.h"

namespace fray::door {

using wire::ControlType;

namespace {
constexpr std::size_t kMostIdle = 4;

Status went_away() { return Status(StatusCode::kUnavailable, "the node went away"); }
}  // namespace

Result<Observer::Connection> Observer::connect(const Patience& patience) const {
  Patience hello = Patience::of(kHelloPatience);
  hello.interrupted = patience.interrupted;
  if (patience.deadline) hello.deadline = std::min(*hello.deadline, *patience.deadline);
  Connection connection;
  FRAY_ASSIGN_OR_RETURN(os::Fd fd, connect_to_node(socket_path_, hello));
  connection.socket = wire::FrameSocket(std::move(fd));
  connection.socket.queue(hello_frame(wire::Role::kObserver));
  const Result<std::string> welcome = await_welcome(connection.socket, hello);
  if (!welcome.is_ok()) return explain_silence(socket_path_, welcome.status());
  return connection;
}

Result<Observer::Connection> Observer::connection(const Patience& patience) {
  bool has_ended = false;
  {
    MutexLock lock(mutex_);
    while (!idle_.empty()) {
      Connection found = std::move(idle_.back());
      idle_.pop_back();
      pollfd watched{found.socket.fd(), POLLIN, 0};
      if (::poll(&watched, 1, 0) == 0) return found;
      has_ended = true;
    }
  }
  auto made = connect(patience);
  // It is the same for who asks whether the node has ended in a question or between two.
  if (has_ended && !made.is_ok() && made.status().code() == StatusCode::kUnavailable) return went_away();
  return made;
}

Result<Answer> Observer::await(Connection& connection, Ticket ticket, const Patience& patience) {
  while (!connection.questions.is_answered(ticket)) {
    Result<wire::Incoming> frame = next_frame(connection.socket, patience);
    if (!frame.is_ok() && frame.status().code() == StatusCode::kUnavailable) {
      return went_away();
    }
    if (!frame.is_ok()) return frame.status();
    connection.questions.answered(frame->header.id,
                                  {static_cast<ControlType>(frame->header.type), std::string(frame->body), {}});
  }
  return connection.questions.take(ticket);
}

Result<Answer> Observer::ask_with(const std::function<std::string(Ticket)>& frame_of, ControlType wanted,
                                  const Patience& patience) {
  FRAY_ASSIGN_OR_RETURN(Connection asked, connection(patience));
  const Ticket ticket = asked.questions.ask();
  const std::string frame = frame_of(ticket);
  if (frame.empty()) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("what is asked has more than {}, which no message carries. Put large data into a file and "
                    "pass the path",
                    bytes_text(std::uint64_t{wire::kMaxBodyBytes})));
  }
  asked.socket.queue(frame);
  FRAY_ASSIGN_OR_RETURN(Answer answer, await(asked, ticket, patience));  // else the connection closes
  if (answer.type != wanted) return Status(StatusCode::kCorruption, "the node answered another question");
  MutexLock lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(asked));
  return answer;
}

Result<std::string> Observer::status(const Patience& patience) {
  const auto frame_of = [](Ticket ticket) { return wire::frame(ControlType::kStatusRequest, ticket); };
  FRAY_ASSIGN_OR_RETURN(Answer answer, ask_with(frame_of, ControlType::kStatusReply, patience));
  FRAY_ASSIGN_OR_RETURN(wire::Text text, wire::decode<wire::Text>(answer.body));
  return std::move(text.text);
}

}  // namespace fray::door
