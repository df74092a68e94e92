// GuardedFork: forks a worker below a guardian, a process that becomes the parent of the processes that the worker leaves
// behind, and ends them.
//
//   fork server ── guardian ── worker ── what its tasks start
//                     └── what those have detached (a double fork, a parent that has ended)
//
// A process whose parent ends is given to the nearest subreaper above it, which cannot tell where the process comes
// from. So each worker has a subreaper to itself: the processes that the guardian still has when its worker has ended
// were the worker's, and a task may start programs with sessions of their own. The worker cannot be the subreaper itself:
// user code in the worker would get children from wait() that it never started.
//
// When the worker has ended, the guardian reports it, sends SIGTERM to the processes that are left, kills them
// kEndLimit later, and ends.
//
// Threading:  the process that forks must have one thread.
// Ownership:  the caller owns the link, waits for the guardian, and calls released() once it does not need the worker's
//             pid any more: until then the kernel cannot give the pid to another process.
// Failure:    error() is an errno value. When a guardian dies its worker dies too (PR_SET_PDEATHSIG), and when the caller
//             dies both do. The processes that they leave behind then go to the next subreaper above.
#pragma once

#include <optional>

#include <sys/types.h>

#include "os/fd.h"
#include "os/process/child_processes.h"

namespace fray::worker {

class GuardedFork {
 public:
  static GuardedFork make();

  bool is_worker() const { return worker_ == 0; }  // else this is the process that forked
  int error() const { return error_; }
  pid_t guardian() const { return guardian_; }
  pid_t worker() const { return worker_; }
  int link() const { return link_.get(); }  // readable when the worker has ended; below 0 once worker_end() has read it

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
