// JobRequest: a job as a user asks for it, and the JSON document with which it is submitted to Ray's dashboard.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    check() returns kInvalidArgument with what was given and what is allowed. No message contains the values
//             of environment variables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/status.h"

namespace fray::ray {

struct JobRequest {
  std::string entrypoint;     // a line for the shell; command_text() makes one from a list of words
  std::string submission_id;  // empty: a random one is made
  // Ray's runtime_env. Folders and archives of this machine that `working_dir` and `py_modules` name are uploaded, and
  // files of requirements that `pip` and `uv` name are read.
  nlohmann::json runtime_env = nlohmann::json::object();
  std::map<std::string, std::string> metadata;
  std::optional<double> cpus;  // for the entrypoint itself, not for the tasks of its program
  std::optional<double> gpus;
  std::optional<std::uint64_t> memory_bytes;
  std::map<std::string, double> resources;
  std::map<std::string, std::string> label_selector;
};

Status check(const JobRequest& request);

// A random submission id in the form that Ray's own client gives it: "raysubmit_" and 16 letters and digits.
std::string new_submission_id();

// The body of POST /api/jobs/. `mark` is written into the job's metadata, so that a submission recognises its own job.
std::string submit_body(const JobRequest& request, const std::string& mark);

// Whether a path in a runtime env names something on this machine, which has to be uploaded: it is no URL.
bool is_local_path(const std::string& text);

// The packages that a file of requirements names, one a line.
Result<nlohmann::json> read_requirements(const std::string& path);

}  // namespace fray::ray
