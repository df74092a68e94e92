// Which Python the command line works with.
//
// Threading:  any thread; reads the environment.
// Ownership:  none.
// Failure:    kNotFound with the places that were looked at.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace fray::cli {

// `asked`, or where nothing was asked the one that goes with this program (os/machine/installation.h).
Result<std::string> find_python(const std::string& asked);

// As os::find_program(), beside this program.
std::string find_program(const std::string& name);

// Makes this process the program `words`, the first of which is its path. Returns only when that failed: kExitFailed,
// after one line on stderr that begins with `command`.
int become_program(const char* command, std::vector<std::string> words);

}  // namespace fray::cli
