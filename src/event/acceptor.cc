#include "event/acceptor.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>

#include "base/fault.h"

namespace fray::event {

namespace {
constexpr int kMostAtOnce = 64;  // then other sockets of the loop have their turn
}  // namespace

Acceptor::~Acceptor() {
  loop_.cancel(pause_);
  if (listener_ >= 0) loop_.remove(listener_);
}

Status Acceptor::start(int listener, OnSocket on_socket, std::function<void()> on_shortage) {
  on_socket_ = std::move(on_socket);
  on_shortage_ = std::move(on_shortage);
  FRAY_RETURN_IF_ERROR(loop_.add(listener, EPOLLIN, [this](std::uint32_t) { accept(); }));
  listener_ = listener;
  return Status::ok();
}

void Acceptor::accept() {
  for (int count = 0; count < kMostAtOnce; ++count) {
    const bool refused = FRAY_FAULT("accept", EMFILE);
    os::Fd socket(refused ? -1 : ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.is_open()) {
      on_socket_(std::move(socket));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return rest();
    }
  }
  loop_.leave_rest();
}

// Pauses while no descriptor is free. Linux reserves a descriptor before it looks at the queue, so the error does not
// say whether a connection waits.
void Acceptor::rest() {
  loop_.change(listener_, 0);
  pause_ = loop_.after(kPause, [this] { loop_.change(listener_, EPOLLIN); });
  if (on_shortage_) on_shortage_();
}

}  // namespace fray::event
