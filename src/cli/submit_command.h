// `fray submit` and `fray job submit`.
//
// Threading:  one thread; blocks. SIGINT ends a wait and leaves the job as it is.
// Ownership:  what is returned owns what the command line is parsed into.
// Failure:    an exit code of cli/exit_codes.h, or that of the job.
#pragma once

#include "cli/command.h"

namespace fray::cli {

Command::Run add_submit(CLI::App& command, bool start_node);

}  // namespace fray::cli
