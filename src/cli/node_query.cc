#include "cli/node_query.h"

#include <algorithm>
#include <optional>

#include <poll.h>
#include <unistd.h>

#include "os/listener.h"
#include "wire/control.h"
#include "wire/socket.h"

namespace fray::cli {

namespace {

// The text of a reply; nothing when the frame is another one.
Result<std::optional<std::string>> read_reply(const wire::Incoming& frame) {
  auto type = static_cast<wire::ControlType>(frame.header.type);
  if (type != wire::ControlType::kStatusReply && type != wire::ControlType::kRefused) {
    return std::optional<std::string>();
  }
  FRAY_ASSIGN_OR_RETURN(wire::Text text, wire::Text::decode(frame.body));
  if (type == wire::ControlType::kRefused) return Status(StatusCode::kInvalidArgument, text.text);
  return std::optional<std::string>(std::move(text.text));
}

}  // namespace

Result<std::string> ask_status(const std::string& socket_path, std::chrono::milliseconds patience) {
  FRAY_ASSIGN_OR_RETURN(os::Fd fd, os::connect_to(socket_path));
  wire::FrameSocket socket(std::move(fd));
  wire::Hello hello;
  hello.role = wire::Role::kObserver;
  hello.pid = ::getpid();
  hello.release = FRAY_VERSION;
  socket.queue(wire::frame(wire::ControlType::kHello, 0, hello));
  socket.queue(wire::frame(wire::ControlType::kStatusRequest));
  auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    FRAY_RETURN_IF_ERROR(socket.flush());
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Status(StatusCode::kTimedOut, "the node at " + socket_path + " does not answer");
    pollfd watched{socket.fd(), static_cast<short>(socket.has_output() ? POLLIN | POLLOUT : POLLIN), 0};
    if (::poll(&watched, 1, static_cast<int>(left.count())) <= 0) continue;
    Status filled = socket.fill();
    wire::Incoming frame;
    while (true) {
      FRAY_ASSIGN_OR_RETURN(bool more, socket.next(&frame));
      if (!more) break;
      FRAY_ASSIGN_OR_RETURN(std::optional<std::string> reply, read_reply(frame));
      if (reply) return std::move(*reply);
    }
    FRAY_RETURN_IF_ERROR(filled);
  }
}

}  // namespace fray::cli
