// SignalPipe: wakes a thread that sleeps in poll() when signals come. The runtime that handles signals, such as Python,
// writes a byte for each of them.
//
//   before = signal.set_wakeup_fd(pipe.write_fd())   # in Python
//   pipe.pass_on_to(before);                       // the former descriptor gets the bytes as well
//   if (pipe.take()) ...                           // by the thread that reads: signals have come
//
// Threading:  any thread; each byte is read by one take(). Bytes may be written in a signal handler.
// Ownership:  owns both ends of the pipe; borrows the descriptor that bytes are passed on to.
// Failure:    without free descriptors no thread is woken: a wait then notices a signal when it wakes for another reason.
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
  // -1: bytes are not passed on.
  void pass_on_to(int fd) { next_ = fd; }

  // Whether signals have come since this was called last.
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
