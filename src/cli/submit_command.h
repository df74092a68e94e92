// The commands `fray submit` and `fray job submit`.
//
// Threading:  one thread, which the command blocks. SIGINT ends the waiting and leaves the job running.
// Ownership:  the function that is returned owns the values of the command line.
// Failure:    the function returns an exit code of cli/exit_codes.h, or that of the job.
#pragma once

#include "cli/command.h"

namespace fray::cli {

Command::Run add_submit(CLI::App& command, bool start_node);

}  // namespace fray::cli
