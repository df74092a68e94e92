// Jobs as text for people, from the JSON that a node describes them with; and the exit code that a job's end stands for.
//
// Threading:  functions.
// Ownership:  none.
// Failure:    missing keys are shown as "-".
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace fray::cli {

std::string job_table(const nlohmann::json& jobs);
std::string job_page(const nlohmann::json& job);
// "job train-01… succeeded after 3.2 s"
std::string job_end_line(const nlohmann::json& job);
bool has_ended(const nlohmann::json& job);
// 0 for a success; else the job's own code, or kExitFailed where it has none.
int exit_code_of_job(const nlohmann::json& job);

}  // namespace fray::cli
