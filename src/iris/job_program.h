// What a task runs: its command in the folder of its files, after what its packages need was set up.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    kInvalidArgument for a package or an extra with a zero byte.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace fray::iris {

// A command that runs where the workspace is, which is not everywhere where a task begins, and whose process is told which
// job, attempt and replica it is (FRAY_JOB_ID and so on; see docs/concepts/jobs.md). `job_name` is the job's for people.
std::vector<std::string> in_workdir(const std::string& job_name, const std::vector<std::string>& command);
// What in_workdir() was given; another command as it is.
std::vector<std::string> command_in(const std::vector<std::string>& argv);

// The shell lines that make an environment with uv; none where neither packages nor extras are asked for.
Result<std::vector<std::string>> setup_lines(const std::vector<std::string>& packages,
                                             const std::vector<std::string>& extras, const std::string& python_version);

}  // namespace fray::iris
