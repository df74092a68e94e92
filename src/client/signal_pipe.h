// SignalPipe: brings word of signals to a thread that sleeps in poll(). What runs handlers writes a byte for each signal.
//
//   before = signal.set_wakeup_fd(pipe.write_fd())   # in Python
//   pipe.pass_on_to(before);                       // whoever was told before is told as well
//   if (pipe.take()) ...                           // by the thread that reads: signals have come
//
// Threading:  any thread; each byte comes to one that takes. Bytes may be written in a handler of signals.
// Ownership:  owns both ends of the pipe; borrows the descriptor that bytes are passed on to.
// Failure:    without descriptors nobody is told of signals: a wait then gives up when it wakes up for another reason.
#pragma once

#include <array>
#include <atomic>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "os/fd.h"

namespace fray::client {

class SignalPipe {
 public:
  SignalPipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
    read_ = os::Fd(ends[0]);
    write_ = os::Fd(ends[1]);
  }

  int read_fd() const { return read_.get(); }
  int write_fd() const { return write_.get(); }
  // -1: to nobody.
  void pass_on_to(int fd) { next_ = fd; }

  // Whether signals have come since the last time.
  bool take() {
    std::array<char, 64> numbers{};
    const ssize_t count = ::read(read_.get(), numbers.data(), numbers.size());
    if (count <= 0) return false;
    if (const int next = next_; next >= 0) {
      [[maybe_unused]] const ssize_t written = ::write(next, numbers.data(), static_cast<std::size_t>(count));
    }
    return true;
  }

 private:
  os::Fd read_;
  os::Fd write_;
  std::atomic<int> next_{-1};
};

}  // namespace fray::client
