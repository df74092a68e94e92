// run_fork_server(): the loop of a process that forks workers for the node.
//
//   ForkedWorker worker = run_fork_server(fd, callbacks);   // returns only in the forked children, once in each
//
// Speaks kServerReady, kSpawn, kSpawned (with the worker's pidfd), kExited, kLoadLoop and kLoadActors with the node. Each
// worker has a guardian (guardian/guarded_fork.h), which ends the processes that the worker leaves behind. The fork server is a
// subreaper as well: it inherits what a guardian leaves that was killed, and kills it.
//
// What workers import can be loaded before they are forked. A fork server that did so itself would be lost where an
// import starts threads, changes the process or never ends. So a *loader* does, a fork of the fork server. Once all is
// loaded the loader is a fork server itself: requests are handed on to the loader, and its answers to the node.
//
//   node ── fork server ── loader ── guardian ── worker         a request waits while the loader loads, if its worker
//                    └── guardian ── worker (nothing loaded)    would load the same
//
// Threading:  the process must have one thread. Blocks SIGCHLD while it runs; children get the mask that was before.
// Ownership:  takes the node's socket; a forked child owns what ForkedWorker names, and has no other descriptors but 0, 1
//             and 2.
// Failure:    at EOF from the node, or a broken frame, every process below is killed and reaped, and this one exits. A
//             fork that fails is told to the node. Set-up that fails is told on standard error, and the process exits.
//             A loader that dies, that finds that what it has loaded cannot be forked, or that takes too long is given up:
//             from then on workers load what they need by themselves.
#pragma once

#include <cstdint>
#include <functional>

#include "model/ids.h"

namespace fray::worker {

struct ForkedWorker {
  ProcessId process = 0;
  int control_fd = -1;  // to the node
  int page_fd = -1;     // a WorkerPage
};

// Whether the clients that wait for workers are known to need something that can be loaded.
enum class Needs : std::uint8_t { kUnknown, kNothing, kLoaded };

// Each callback may be empty. The first three are called around each fork().
struct ForkCallbacks {
  std::function<void()> before_fork;
  std::function<void()> after_fork_parent;
  std::function<void()> after_fork_child;
  // Called once: when nothing happens for a quarter of a second after the first worker, or before the fifth one. Loads
  // what first calls seldom need, so that further workers share it.
  std::function<void()> load_rest;
  // Called at most once each: they load what event loops and what actors need, so that further workers share it.
  std::function<void()> load_loop;
  std::function<void()> load_actors;
  // Asked before each fork, and again every few milliseconds while the answer is kUnknown.
  std::function<Needs()> needs;
  // Called in the loader: loads what is needed. False: nothing was loaded, or what was loaded cannot be forked.
  std::function<bool()> load;
};

ForkedWorker run_fork_server(int node_fd, const ForkCallbacks& callbacks);

}  // namespace fray::worker
