#include "os/process/start_thread.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/fault.h"

namespace fray::os {

Result<std::thread> start_thread(std::function<void()> run) {
  std::thread thread;
  int error = 0;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    if (FRAY_FAULT("thread", EAGAIN)) throw std::system_error(errno, std::generic_category());
    thread = std::thread(std::move(run));
  } catch (const std::system_error& refused) {
    error = refused.code().value();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) return thread;
  return Status(StatusCode::kResourceExhausted,
                fmt::format("cannot start a thread: {}; end some processes of this user or container, or raise the "
                            "limit on them (ulimit -u, pids.max)",
                            std::strerror(error)));
}

}  // namespace fray::os
