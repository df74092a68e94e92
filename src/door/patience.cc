#include "door/patience.h"

#include <algorithm>
#include <cerrno>

#include <poll.h>

namespace fray::door {

namespace {
constexpr std::chrono::milliseconds kAskPause{200};
constexpr std::chrono::milliseconds kLongest{std::chrono::hours(1)};
}  // namespace

Status check(const Patience& patience) {
  if (patience.interrupted && patience.interrupted()) return Status(StatusCode::kCancelled, "interrupted");
  if (patience.deadline && std::chrono::steady_clock::now() >= *patience.deadline) {
    return Status(StatusCode::kTimedOut, "the node did not answer in time");
  }
  return Status::ok();
}

Status wait_for(int descriptor, short events, const Patience& patience) {
  while (true) {
    auto sleep = patience.interrupted ? kAskPause : kLongest;
    if (patience.deadline) {
      const auto left = *patience.deadline - std::chrono::steady_clock::now();
      sleep = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(0), sleep);
    }
    pollfd watched{descriptor, events, 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(sleep.count()));
    if (ready > 0) return Status::ok();
    if (ready < 0 && errno != EINTR) return Status::io_error("poll", errno);
    FRAY_RETURN_IF_ERROR(check(patience));
  }
}

}  // namespace fray::door
