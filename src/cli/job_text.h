// Jobs as text for people, and the exit code that a job's end stands for.
//
// Threading:  functions; they read the clock.
// Ownership:  none.
// Failure:    what is not known is shown as "-".
#pragma once

#include <string>
#include <vector>

#include "model/job_info.h"

namespace fray::cli {

std::string job_table(const std::vector<JobInfo>& jobs);
std::string job_page(const JobInfo& job);
// "job train-01… succeeded after 3.2 s"
std::string job_end_line(const JobInfo& job);
// 0 for a success; else the job's own code, or kExitFailed where it has none.
int exit_code_of_job(const JobInfo& job);

}  // namespace fray::cli
