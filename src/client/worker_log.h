// print_worker_log: a worker's output on the driver's terminal, each line with the task and process it came from.
//
// Threading:  any thread; a line is written with one system call.
// Ownership:  none.
// Failure:    what cannot be written is dropped.
#pragma once

#include "wire/control.h"

namespace fray::client {

// stdout lines go to descriptor 1, stderr lines to 2: "(name pid=123) text". On a terminal the prefix has the worker's
// colour (see os/terminal_style.h).
void print_worker_log(const wire::Log& log);

}  // namespace fray::client
