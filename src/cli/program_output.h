// program_output(): runs a program to its end and returns what it printed.
//
// Threading:  any thread; the call blocks for `patience` at most. Nothing else may reap children of this process during
//             the call.
// Ownership:  the program is killed and reaped before the call returns.
// Failure:    kNotFound when the program cannot be started; kTimedOut when it has not ended within `patience`;
//             kInvalidArgument, with the last line that it has written to standard error, when its exit code is not 0.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/status.h"

namespace fray::cli {

Result<std::string> program_output(const std::vector<std::string>& command, std::chrono::milliseconds patience);

}  // namespace fray::cli
