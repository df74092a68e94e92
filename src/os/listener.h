// Listener: a listening Unix stream socket at a path, and the connecting side of it.
//
// Threading:  one thread.
// Ownership:  owns the socket and a reserve descriptor, and unlinks the path at its end.
// Failure:    paths over 107 bytes are reached through their folder; only a last part that long is refused. accept()
//             returns no descriptor when nobody waits, and when descriptors ran out: then the caller who waits is accepted on the reserve and closed.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "os/fd.h"

namespace fray::os {

class Listener {
 public:
  static Result<Listener> listen(const std::string& path);
  Listener(Listener&& other) noexcept
      : fd_(std::move(other.fd_)), reserve_(std::move(other.reserve_)), path_(std::move(other.path_)) {
    other.path_.clear();
  }
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  // Non-blocking. `*more` is false once nobody waits any more.
  std::optional<Fd> accept(bool* more);

 private:
  Listener(Fd fd, Fd reserve, std::string path)
      : fd_(std::move(fd)), reserve_(std::move(reserve)), path_(std::move(path)) {}

  Fd fd_;
  Fd reserve_;
  std::string path_;
};

// A non-blocking, connected socket. kUnavailable when nobody listens.
Result<Fd> connect_to(const std::string& path);

}  // namespace fray::os
