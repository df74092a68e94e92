// fork_guarded(): a worker below a guardian: a process of the worker's own that all it leaves behind lands at.
//
//   fork server ── guardian ── worker ── what its tasks start
//                     └── what those have detached (a double fork, a parent that has ended)
//
// A process whose parent ends is handed to the nearest subreaper above it, and nothing tells that one where it comes from.
// So that it is known whose it is, each worker has a subreaper to itself: what is left when the worker has ended was the
// worker's, what others have left is not touched, and a task may start programs that have sessions of their own. The
// worker cannot be the subreaper: its user's code would meet children in wait() that it never started.
//
// When the worker has ended, the guardian says so, asks what is left to end (SIGTERM), kills it kEndLimit later, and ends.
//
// Threading:  the process that forks must have one thread.
// Ownership:  the caller owns the link, waits for the guardian, and says released() once it needs the worker's number no
//             more: until then the number cannot be given to another process.
// Failure:    `error` is an errno value. A guardian that dies takes the worker with it (PR_SET_PDEATHSIG), as the death of
//             the caller takes both; what they leave is the caller's then, or that of the subreaper above it.
#pragma once

#include <optional>

#include <sys/types.h>

#include "os/child_processes.h"
#include "os/fd.h"

namespace fray::worker {

class GuardedFork {
 public:
  static GuardedFork make();

  bool is_worker() const { return worker_ == 0; }  // else this is the process that forked
  int error() const { return error_; }
  pid_t guardian() const { return guardian_; }
  pid_t worker() const { return worker_; }
  int link() const { return link_.get(); }  // readable when the worker has ended; below 0 afterwards

  void released();
  // How the worker ended, once; without blocking.
  std::optional<os::Ended> worker_end();

 private:
  GuardedFork() = default;
  static GuardedFork failed(int error);
  static GuardedFork go_on_as_guardian(pid_t parent, os::Fd link);

  pid_t guardian_ = -1;
  pid_t worker_ = -1;
  int error_ = 0;
  os::Fd link_;
};

}  // namespace fray::worker
