#include "os/sockets/socket_pair.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fault.h"

namespace fray::os {

namespace {

Status failed(const char* what) {
  if (errno == EMFILE || errno == ENFILE) {
    return Status(StatusCode::kResourceExhausted, "the limit of open files is reached (see ulimit -n)");
  }
  return Status::io_error(what, errno);
}

}  // namespace

Result<std::pair<Fd, Fd>> make_socket_pair() {
  int ends[2];
  if (FRAY_FAULT("socketpair", EMFILE) ||
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return failed("socketpair");
  }
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

Result<std::pair<Fd, Fd>> make_pipe() {
  int ends[2];
  if (FRAY_FAULT("pipe", EMFILE) || ::pipe2(ends, O_CLOEXEC) != 0) return failed("pipe");
  std::pair<Fd, Fd> both{Fd(ends[0]), Fd(ends[1])};
  int flags = ::fcntl(ends[0], F_GETFL);
  if (flags < 0 || ::fcntl(ends[0], F_SETFL, flags | O_NONBLOCK) != 0) return failed("fcntl");
  return both;
}

}  // namespace fray::os
