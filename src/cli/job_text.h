// Descriptions of jobs for people, and the exit code with which a command reports how a job has ended.
//
// Threading:  any thread; the functions read the clock.
// Ownership:  none.
// Failure:    what is not known appears as "-".
#pragma once

#include <string>
#include <vector>

#include "model/job_info.h"

namespace fray::cli {

std::string job_table(const std::vector<JobInfo>& jobs);
std::string job_page(const JobInfo& job);
// "job train-01… succeeded after 3.2 s"
std::string job_end_line(const JobInfo& job);
// 0 when the job has succeeded; otherwise its exit code, or kExitFailed when it has none.
int exit_code_of_job(const JobInfo& job);

}  // namespace fray::cli
