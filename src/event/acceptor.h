// Acceptor: accepts the connections at a listening socket, and hands each to a callback.
//
//   acceptor.start(listener.fd(), [](os::Fd socket) { ... });
//
// When the kernel has no descriptor for a connection, the peer goes on waiting in the listener's queue. The acceptor
// then stops watching the listener for kPause, because it stays readable and would make each round of the loop end at
// once, and tries again.
//
// Threading:  the loop's. Ownership:  the listening socket is the caller's and is closed after the acceptor's end. A
// socket that was handed on is
//             the callback's; the callback must not end the acceptor.
// Failure:    start() returns kIoError when the kernel refuses to watch. A lack of descriptors or of memory delays, and
//             on_shortage tells the owner, which can then close the connections that it needs least.
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

  // May be called once. `on_shortage` may be empty.
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
