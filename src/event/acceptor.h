// Acceptor: takes the connections that wait at a listening socket, and hands each on.
//
//   acceptor.start(listener.fd(), [](os::Fd socket) { ... });
//
// Where the kernel gives no descriptor, those who wait go on waiting in the listener's queue: the acceptor looks away for
// kPause, for the listener stays readable all that time, and tries again. What each round of the loop costs stays bounded.
//
// Threading:  the loop's.
// Ownership:  the listening socket is the caller's and is closed after the acceptor's end. A socket that was handed on is
//             the callback's; the callback must not end the acceptor.
// Failure:    start() returns kIoError when the kernel refuses to watch. A lack of descriptors or of memory delays, and
//             on_shortage says so, that the owner can close what it needs least.
#pragma once

#include <chrono>
#include <functional>

#include "event/loop.h"

namespace fray::event {

class Acceptor {
 public:
  static constexpr std::chrono::milliseconds kPause{100};
  using OnSocket = std::function<void(os::Fd socket)>;

  explicit Acceptor(Loop& loop) : loop_(loop) {}
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Once. `on_shortage` may be empty.
  Status start(int listener, OnSocket on_socket, std::function<void()> on_shortage = {});

 private:
  void accept();
  void rest();

  Loop& loop_;
  int listener_ = -1;
  OnSocket on_socket_;
  std::function<void()> on_shortage_;
  TimerId pause_ = 0;
};

}  // namespace fray::event
