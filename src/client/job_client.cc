#include "client/job_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/amount_text.h"
#include "os/listener.h"

namespace fray::client {

using wire::ControlType;

namespace {

constexpr std::chrono::milliseconds kAskCaller{200};
constexpr std::uint64_t kTicket = 1;  // a connection has one call at a time
constexpr std::size_t kMostIdle = 4;

}  // namespace

Result<wire::FrameSocket> JobClient::connect() const {
  FRAY_ASSIGN_OR_RETURN(os::Fd fd, os::connect_to(socket_path_));
  wire::FrameSocket socket(std::move(fd));
  wire::Hello hello;
  hello.role = wire::Role::kObserver;
  hello.pid = ::getpid();
  hello.release = release_;
  socket.queue(wire::frame(ControlType::kHello, 0, hello));
  return socket;
}

Result<wire::FrameSocket> JobClient::connection() {
  {
    MutexLock lock(mutex_);
    while (!idle_.empty()) {
      wire::FrameSocket socket = std::move(idle_.back());
      idle_.pop_back();
      pollfd watched{socket.fd(), POLLIN, 0};
      if (::poll(&watched, 1, 0) == 0) return socket;  // else the node has gone meanwhile
    }
  }
  return connect();
}

Result<std::string> JobClient::await(wire::FrameSocket& socket, ControlType answer, Deadline deadline,
                                     const Interrupted& interrupted) {
  while (true) {
    FRAY_RETURN_IF_ERROR(socket.flush());
    auto left = kAskCaller;
    if (deadline) {
      left = std::min(left, std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now()));
      if (left.count() < 0) return Status(StatusCode::kTimedOut, "the time is up");
    }
    pollfd watched{socket.fd(), static_cast<short>(socket.has_output() ? POLLIN | POLLOUT : POLLIN), 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(left.count()));
    if (ready <= 0) {
      if (interrupted && interrupted()) return Status(StatusCode::kCancelled, "interrupted");
      if (deadline && std::chrono::steady_clock::now() >= *deadline) {
        return Status(StatusCode::kTimedOut, "the time is up");
      }
      continue;
    }
    Status filled = socket.fill();
    wire::Incoming frame;
    while (true) {
      FRAY_ASSIGN_OR_RETURN(bool more, socket.next(&frame));
      if (!more) break;
      const auto type = static_cast<ControlType>(frame.header.type);
      if (type == answer) return std::string(frame.body);
      if (type == ControlType::kRefused) {
        FRAY_ASSIGN_OR_RETURN(wire::Text why, wire::Text::decode(frame.body));
        return Status(why.code, why.text);
      }
    }
    if (!filled.is_ok()) return Status(filled.code(), "the node went away");
  }
}

template <typename Message>
Result<std::string> JobClient::ask(ControlType type, const Message& message, ControlType answer, Deadline deadline,
                                   const Interrupted& interrupted) {
  const std::string frame = wire::frame(type, kTicket, message);
  if (frame.empty()) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("the job is described in more than {}, which no message carries. Put the data of its call "
                    "into a file and pass the path",
                    bytes_text(std::uint64_t{wire::kMaxBodyBytes})));
  }
  FRAY_ASSIGN_OR_RETURN(wire::FrameSocket socket, connection());
  socket.queue(frame);
  Result<std::string> body = await(socket, answer, deadline, interrupted);
  if (!body.is_ok()) return body;  // the connection closes, and with it what was asked
  MutexLock lock(mutex_);
  if (idle_.size() < kMostIdle) idle_.push_back(std::move(socket));
  return body;
}

template <typename Message>
Result<std::string> JobClient::ask_for_json(ControlType type, const Message& message, Deadline deadline,
                                            const Interrupted& interrupted) {
  FRAY_ASSIGN_OR_RETURN(std::string body, ask(type, message, ControlType::kJobAnswer, deadline, interrupted));
  FRAY_ASSIGN_OR_RETURN(wire::JobAnswer answer, wire::JobAnswer::decode(body));
  if (answer.code != StatusCode::kOk) return Status(answer.code, answer.message);
  return std::move(answer.json);
}

Result<std::string> JobClient::submit(JobSpec spec) {
  return ask_for_json(ControlType::kSubmitJob, wire::SubmitJob{std::move(spec)});
}

Result<std::string> JobClient::get(std::vector<std::string> ids) {
  return ask_for_json(ControlType::kGetJobs, wire::JobNames{std::move(ids)});
}

Result<std::string> JobClient::wait(std::vector<std::string> ids, Deadline deadline, const Interrupted& interrupted) {
  return ask_for_json(ControlType::kWaitJobs, wire::JobNames{std::move(ids)}, deadline, interrupted);
}

Result<std::string> JobClient::stop(std::vector<std::string> ids) {
  return ask_for_json(ControlType::kStopJob, wire::JobNames{std::move(ids)});
}

Result<std::string> JobClient::remove(std::vector<std::string> ids) {
  return ask_for_json(ControlType::kDeleteJob, wire::JobNames{std::move(ids)});
}

Result<wire::JobLogOpened> JobClient::open_log(const wire::OpenJobLog& request) {
  FRAY_ASSIGN_OR_RETURN(std::string body, ask(ControlType::kOpenJobLog, request, ControlType::kJobLogOpened, {}, {}));
  FRAY_ASSIGN_OR_RETURN(wire::JobLogOpened answer, wire::JobLogOpened::decode(body));
  if (answer.code != StatusCode::kOk) return Status(answer.code, answer.message);
  return answer;
}

Result<wire::JobLogPieces> JobClient::read_log(const wire::ReadJobLog& request, Deadline deadline,
                                               const Interrupted& interrupted) {
  FRAY_ASSIGN_OR_RETURN(std::string body,
                        ask(ControlType::kReadJobLog, request, ControlType::kJobLogPieces, deadline, interrupted));
  FRAY_ASSIGN_OR_RETURN(wire::JobLogPieces answer, wire::JobLogPieces::decode(body));
  if (answer.code != StatusCode::kOk) return Status(answer.code, answer.message);
  return answer;
}

}  // namespace fray::client
