// JobRequest: a job as a user asks for it, and the document that Ray's dashboard takes.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    check() returns kInvalidArgument with what was given and what is allowed. Values of environment variables are
//             in no message.
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
  std::string entrypoint;     // a line for the shell; command_text() makes one of words
  std::string submission_id;  // empty: one is drawn
  // As Ray knows it. Folders and archives of this machine in `working_dir` and `py_modules` are sent along, files of
  // requirements in `pip` and `uv` are read.
  nlohmann::json runtime_env = nlohmann::json::object();
  std::map<std::string, std::string> metadata;
  std::optional<double> cpus;  // of the entrypoint itself
  std::optional<double> gpus;
  std::optional<std::uint64_t> memory_bytes;
  std::map<std::string, double> resources;
  std::map<std::string, std::string> label_selector;
};

Status check(const JobRequest& request);

// "raysubmit_" and 16 letters and digits, as Ray draws them.
std::string new_submission_id();

// The body of POST /api/jobs/; `mark` goes into the metadata.
std::string submit_body(const JobRequest& request, const std::string& mark);

// Whether a path of a runtime env is meant to be sent from this machine: it has no scheme.
bool is_local_path(const std::string& text);

// The packages that a file of requirements names, one a line.
Result<nlohmann::json> read_requirements(const std::string& path);

}  // namespace fray::ray
