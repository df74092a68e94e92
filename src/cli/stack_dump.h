// dump_stacks(): has a process write its own Python stacks, and reads them.
//
// Workers and drivers of Fray have a handler for kStackSignal that writes the stacks of all threads into a file in
// memory (Python's faulthandler: it needs neither the interpreter's lock nor memory, so it answers from inside C code
// too). The file is found among the process's descriptors. A process without the handler is never sent the signal.
//
// Threading:  one thread; the call blocks for `patience` at most. When several processes ask at once, a lock on the
//             file has them take turns.
// Ownership:  none.
// Failure:    kNotFound when the process is gone or has no handler; kTimedOut when it does not answer, with the state
//             of the process.
#pragma once

#include <chrono>
#include <string>

#include <sys/types.h>

#include "base/status.h"

namespace fray::cli {

// Returns what Python's faulthandler has written.
Result<std::string> dump_stacks(pid_t pid, std::chrono::milliseconds patience);

}  // namespace fray::cli
