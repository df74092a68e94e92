// Listener: a listening Unix stream socket at a path, and the connecting side of it.
//
// Threading:  one thread.
// Ownership:  owns the socket, and unlinks the path at its end, unless another socket is there by then.
// Failure:    paths over 107 bytes are reached through their folder; only a last part that long is refused. The
//             acceptor of the connections (event/acceptor.h) handles a lack of descriptors.
#pragma once

#include <string>
#include <utility>

#include <sys/socket.h>
#include <sys/types.h>

#include "base/status.h"
#include "os/fd.h"

namespace fray::os {

class Listener {
 public:
  // `backlog`: how many connections may wait to be accepted; the system may allow fewer.
  static Result<Listener> listen(const std::string& path, int backlog = SOMAXCONN);
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

 private:
  Listener(Fd fd, std::string path);

  Fd fd_;
  std::string path_;
  std::pair<dev_t, ino_t> file_;  // the device and number of the file at the path
};

// A non-blocking, connected socket. kUnavailable when nobody listens, kTimedOut when the queue of those who want to
// connect is full now, kResourceExhausted when this process has no descriptor left.
Result<Fd> connect_to(const std::string& path);

}  // namespace fray::os
