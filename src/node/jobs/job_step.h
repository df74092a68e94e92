// job_step(): a step of a job's life, at which tests have the node die (docs/reference/faults.md).
//
// Threading:  any.
// Ownership:  none.
// Failure:    the process kills itself when the fault of that name was asked for.
#pragma once

#include <csignal>

#include <unistd.h>

#include "base/fault.h"

namespace fray::node {

inline void job_step(const char* name) {
  if (FRAY_FAULT(name, 0)) ::kill(::getpid(), SIGKILL);
}

}  // namespace fray::node
