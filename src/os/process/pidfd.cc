#include "os/process/pidfd.h"

#include <cerrno>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fray::os {

Result<Fd> open_pidfd(pid_t pid) {
  long fd = ::syscall(SYS_pidfd_open, pid, 0u);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  if (errno == ESRCH) return Status(StatusCode::kNotFound, "the process has ended");
  return Status::io_error("pidfd_open", errno);
}

Status send_signal(const Fd& pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0u) == 0) return Status::ok();
  if (errno == ESRCH) return Status(StatusCode::kNotFound, "the process has ended");
  return Status::io_error("pidfd_send_signal", errno);
}

bool has_ended(const Fd& pidfd) {
  pollfd watched{pidfd.get(), POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1 && (watched.revents & (POLLIN | POLLERR | POLLHUP)) != 0;
}

}  // namespace fray::os
