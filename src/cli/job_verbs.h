// The verbs of `fray job`.
//
// Threading:  one thread; they block. SIGINT ends a wait and leaves the job as it is.
// Ownership:  none.
// Failure:    each returns an exit code of cli/exit_codes.h, or that of the job it waited for, and says on standard error
//             what failed.
#pragma once

#include <string>

#include "cli/job_arguments.h"

namespace fray::cli {

// Says what the user can do after Ctrl-C; returns the exit code.
int detached(const std::string& id);

int run_job_submit(const JobSubmitArguments& arguments);
int run_job_list(const JobNameArguments& arguments);
int run_job_status(const JobNameArguments& arguments);
int run_job_stop(const JobNameArguments& arguments);
int run_job_wait(const JobNameArguments& arguments);
int run_job_delete(const JobNameArguments& arguments);
int run_job_logs(const JobLogArguments& arguments);

}  // namespace fray::cli
