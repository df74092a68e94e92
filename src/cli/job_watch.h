// Watches a job from the command line: prints its output and waits for its end. Ctrl-C ends the watching and leaves the
// job running.
//
// Threading:  one thread, after watch_for_interrupts().
// Ownership:  none.
// Failure:    the functions return an exit code of cli/exit_codes.h or that of the job, and print the reason on
//             standard error.
#pragma once

#include <string>

#include "cli/clusters.h"
#include "cli/job_output.h"

namespace fray::cli {

// Prints the job's output. When the request follows the job, and not one attempt alone, it also prints how the job has
// ended, and returns the job's exit code.
int watch_job(const std::string& command, const OpenCluster& cluster, const cluster::LogRequest& request,
              JobOutput::Style style);
// The exit code of a command whose waiting or reading has failed. After Ctrl-C, and when nobody answers any more, it also
// prints the commands that continue.
int watch_failed(const std::string& command, const Status& status, const std::string& id, const OpenCluster& cluster);

}  // namespace fray::cli
