// dump_stacks(): the Python stacks of a process, written by that process itself.
//
// Workers and drivers of Fray have a handler for kStackSignal that writes the stacks of all threads into a file in
// memory (Python's faulthandler: it needs neither the interpreter's lock nor memory, so it answers from inside C code
// too). The file is found among the process's descriptors. A process without the handler is never sent the signal.
//
// Threading:  one thread; blocks, `patience` at most. Callers of several processes take turns by a lock on the file.
// Ownership:  none.
// Failure:    kNotFound: the process is gone, or has no handler. kTimedOut: it does not answer; the message has its state.
#pragma once

#include <chrono>
#include <string>

#include <sys/types.h>

#include "base/status.h"

namespace fray::cli {

// What Python's faulthandler wrote.
Result<std::string> dump_stacks(pid_t pid, std::chrono::milliseconds patience);

}  // namespace fray::cli
