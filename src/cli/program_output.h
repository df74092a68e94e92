// program_output(): runs a program to its end and returns what it printed.
//
// Threading:  any thread; blocks, `patience` at most. Children of the process must not be reaped by others meanwhile.
// Ownership:  the program is killed and reaped before the call returns.
// Failure:    kNotFound when it cannot be started; kTimedOut; kInvalidArgument with the last line of its error output
//             when it ends with another code than 0.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/status.h"

namespace fray::cli {

Result<std::string> program_output(const std::vector<std::string>& command, std::chrono::milliseconds patience);

}  // namespace fray::cli
