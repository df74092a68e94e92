// A C++ worker: runs the loop of a fork server, and in each forked child the loop of tasks, until the node ends it.
//
// The host program (fray-cpp-worker) executes the program of the driver, or loads the library of the task. The
// environment names the socket to the node, where fray_serve() finds it.
//
// Threading:  serve() needs a process with one thread.
// Ownership:  takes over the process: serve() does not return once it has found the socket.
// Failure:    errors are printed on standard error, which the node keeps, and end the process with code 1.
#pragma once

namespace fray::capi {

inline constexpr const char* kSocketVariable = "FRAY_CPP_WORKER";  // "PID:DESCRIPTOR", of the process that exec made

// Returns the socket of a process that was started as a worker, once; -1 in every other case.
int take_worker_socket();
[[noreturn]] void serve(int node_fd);

}  // namespace fray::capi
