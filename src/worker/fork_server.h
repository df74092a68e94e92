// run_fork_server(): the loop of a process that forks workers for the node.
//
//   ForkedWorker worker = run_fork_server(fd, callbacks);   // returns only in the forked children, once in each
//
// Speaks kServerReady, kSpawn, kSpawned (with the worker's pidfd), kExited and kLoadLoop with the node. Each worker has a
// guardian (guardian.h), which ends the processes that the worker leaves behind. The fork server is a subreaper as
// well: it inherits what a guardian leaves that was killed, and kills it.
//
// Threading:  the process must have one thread. Blocks SIGCHLD while it runs; children get the mask that was before.
// Ownership:  takes the node's socket; a forked child owns what ForkedWorker names and has no other descriptor but 0 to 2.
// Failure:    at EOF from the node, or a broken frame, every process below is killed and reaped, and this one exits. A
//             fork that fails is told to the node. Set-up that fails is told on standard error, and the process exits.
#pragma once

#include <functional>

#include "model/ids.h"

namespace fray::worker {

struct ForkedWorker {
  ProcessId process = 0;
  int control_fd = -1;  // to the node
  int page_fd = -1;     // a WorkerPage
};

// Each may be empty. The first three are called around each fork().
struct ForkCallbacks {
  std::function<void()> before_fork;
  std::function<void()> after_fork_parent;
  std::function<void()> after_fork_child;
  // At most once: loads what event loops need, so that further workers share it.
  std::function<void()> load_loop;
  // At most once, when there come to be many workers: loads what most of them need, so that further ones share it.
  std::function<void()> load_for_many;
};

ForkedWorker run_fork_server(int node_fd, const ForkCallbacks& callbacks);

}  // namespace fray::worker
