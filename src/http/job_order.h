// JobOrder: a job as somebody asks for it over HTTP, with what is left out to the node.
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    spec_of() returns what JobSpec::check() says.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/job_spec.h"

namespace fray::http {

struct JobOrder {
  std::string id;  // empty: the node makes one
  std::string name;
  std::vector<std::string> command;
  std::string folder;                              // empty: the user's home
  std::map<std::string, std::string> environment;  // beside the node's own
  std::map<std::string, double> resources;
  std::uint32_t replicas = 1;
  std::uint32_t max_processes = 0;
  std::uint32_t max_files = 0;
  std::int32_t priority = 0;
  std::optional<double> deadline_seconds;  // nullopt: none
  std::optional<double> grace_seconds;     // nullopt: the node's usual time
  std::string runtime_env;                 // JSON; empty: none
  std::string metadata;                    // JSON; empty: none
};

Result<JobSpec> spec_of(JobOrder order);

}  // namespace fray::http
