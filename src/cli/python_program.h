// Finds the Python interpreter with which the command line works.
//
// Threading:  any thread; reads the environment.
// Ownership:  none.
// Failure:    kNotFound with the places that were searched.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace fray::cli {

// The interpreter `asked`; when it is empty, the one that belongs to this program (os/machine/installation.h).
Result<std::string> find_python(const std::string& asked);

// Finds a program as os::find_program() does, and looks beside this program first.
std::string find_program(const std::string& name);

// Replaces this process by the program `words`, the first of which is its path. Returns only when that fails: the
// result is kExitFailed then, and one line on standard error, which begins with `command`, says why.
int become_program(const char* command, std::vector<std::string> words);

}  // namespace fray::cli
