// Watching a job from the command line: its output, its end, and Ctrl-C, which leaves the job as it is.
//
// Threading:  one thread, after watch_for_interrupts().
// Ownership:  none.
// Failure:    an exit code of cli/exit_codes.h, or that of the job, with the reason on standard error.
#pragma once

#include <string>

#include "cli/clusters.h"
#include "cli/job_output.h"

namespace fray::cli {

// Prints the output; one that follows it tells how the job ended, and ends with its exit code.
int watch_job(const std::string& command, const OpenCluster& cluster, const cluster::LogRequest& request,
              JobOutput::Style style);
// The exit code of a wait or a log that did not come to its end. After Ctrl-C it says how to come back.
int watch_failed(const std::string& command, const Status& status, const std::string& id, const OpenCluster& cluster);

}  // namespace fray::cli
