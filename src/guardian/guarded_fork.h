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
// The guardian is a program of its own, fray-guardian (guardian_main.cc), so that it costs no copy of the fork server's page
// tables and keeps none. Until it is executed it runs in the fork server's memory (vfork), and forks the
// worker from there; os/process/fork_below.h says why that is allowed.
//
// When the worker has ended, the guardian reports it, sends SIGTERM to the processes that are left, kills them a second
// later, and ends.
//
// Threading:  the process that forks must have one thread, which waits until the guardian is executed.
// Ownership:  the caller owns the link, waits for the guardian, and calls released() once it does not need the worker's
//             pid any more: until then the kernel cannot give the pid to another process.
// Failure:    status() says what failed. Where the guardian cannot be executed, it ends and the worker that it has forked is
//             killed; the caller reaps the one, and if it is a subreaper the other. When a guardian dies its worker dies too
//             (PR_SET_PDEATHSIG), and when the caller dies both do. The processes that they leave behind then go to the next
//             subreaper above.
#pragma once

#include <optional>

#include <sys/types.h>

#include "base/status.h"
#include "os/fd.h"
#include "os/process/child_processes.h"

namespace fray::guardian {

class GuardedFork {
 public:
  // Returns twice, like fork(). `program` is an open file: fray-guardian, which a process in a container does not see.
  static GuardedFork make(int program);

  bool is_worker() const { return worker_ == 0; }  // else this is the process that forked
  const Status& status() const { return status_; }
  pid_t guardian() const { return guardian_; }
  pid_t worker() const { return worker_; }
  int link() const { return link_.get(); }  // readable when the worker has ended; below 0 once worker_end() has read it

  void released();
  // How the worker ended, once; without blocking.
  std::optional<os::Ended> worker_end();

 private:
  GuardedFork() = default;

  pid_t guardian_ = -1;
  pid_t worker_ = -1;
  Status status_;
  os::Fd link_;
};

}  // namespace fray::guardian
