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

// The first that there is: `asked`; the interpreter of the environment that this program is installed in; that of
// $VIRTUAL_ENV; on the PATH that of the version that this program's package was built for, then `python3`.
Result<std::string> find_python(const std::string& asked);

// The first executable of that name beside this program or on the PATH; empty when there is none.
std::string find_program(const std::string& name);

// Replaces this process by the program `words[0]`. Returns, with an exit code, only where that cannot be started;
// `command` opens the message.
int become_program(const char* command, std::vector<std::string> words);

}  // namespace fray::cli
