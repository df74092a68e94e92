// Fd: one file descriptor with one owner.
//
// Threading:  one thread at a time.
// Ownership:  closes what it holds; move-only.
// Failure:    closing never fails visibly.
#pragma once

#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace fray::os {

class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// A further descriptor of the same file, close-on-exec; not open when the process has no descriptor left.
inline Fd another_descriptor(int descriptor) { return Fd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3)); }

}  // namespace fray::os
