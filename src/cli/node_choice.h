// Which node a command asks when several run, and what its failure means to the shell.
//
// Threading:  one thread; reads the run folder.
// Ownership:  none.
// Failure:    choose_node() is empty when no node runs, and has said so on standard error.
#pragma once

#include <string>

#include "base/status.h"

namespace fray::cli {

// `asked`, or the socket of the newest node of this user; lists the others on standard error when there are several.
std::string choose_node(const std::string& command, const std::string& asked);

int exit_code_of(const Status& status);

}  // namespace fray::cli
