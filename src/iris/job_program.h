// The program of a task: its command, which runs in the folder of its files after its packages were installed.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    kInvalidArgument for a package or an extra with a zero byte.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace fray::iris {

// A command that changes to the folder of the workspace, in which not every task starts, and sets the variables that
// name job, attempt and replica (FRAY_JOB_ID and so on; see docs/concepts/jobs.md). `job_name` is the name of the job.
std::vector<std::string> in_workdir(const std::string& job_name, const std::vector<std::string>& command);
// The command that in_workdir() was given; any other command unchanged.
std::vector<std::string> command_in(const std::vector<std::string>& argv);

// The shell lines that make an environment with uv; none where neither packages nor extras are asked for.
Result<std::vector<std::string>> setup_lines(const std::vector<std::string>& packages,
                                             const std::vector<std::string>& extras, const std::string& python_version);

}  // namespace fray::iris
