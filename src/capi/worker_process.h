// A C++ worker: the loop of its fork server, and in each forked child the loop of tasks, until the node ends it.
//
// The host program (fray-cpp-worker) becomes the driver's program, or loads its library, with the node's socket named in
// the environment. There fray_serve() finds it.
//
// Threading:  serve() needs a process of one thread.
// Ownership:  takes over the process; never returns once the socket was found.
// Failure:    what goes wrong is told on standard error, which the node keeps, and ends the process with code 1.
#pragma once

namespace fray::capi {

inline constexpr const char* kSocketVariable = "FRAY_CPP_WORKER";  // "PID:DESCRIPTOR", of the process that exec made

// The socket of a process that was started as a worker, once; else -1.
int take_worker_socket();
[[noreturn]] void serve(int node_fd);

}  // namespace fray::capi
