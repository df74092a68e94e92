// Pairs of connected descriptors: stream sockets and pipes, all close-on-exec.
//
// Threading:  any thread.
// Ownership:  the caller owns both ends.
// Failure:    kResourceExhausted when descriptors ran out; kIoError otherwise.
#pragma once

#include <utility>

#include "base/status.h"
#include "os/fd.h"

namespace fray::os {

// Both ends are non-blocking.
Result<std::pair<Fd, Fd>> make_socket_pair();
// Reading end (non-blocking), writing end (blocking).
Result<std::pair<Fd, Fd>> make_pipe();

}  // namespace fray::os
