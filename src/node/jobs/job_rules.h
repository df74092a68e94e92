// JobRules: the limits of a node for all of its jobs, read from its environment when it starts.
//
//   FRAY_JOB_PROCESSES   processes and threads of a job that asks for no limit of its own; 0, if not given: no limit
//   FRAY_KEEP_JOBS       jobs that have ended and are remembered; 1000 if not given
//   FRAY_KEEP_JOBS_DAYS  for how many days they are remembered; 30 if not given
//
// Threading:  a value.
// Ownership:  none.
// Failure:    read() returns kInvalidArgument for a value that is not a number, with the variable's name and what is
//             allowed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "job/retention.h"

namespace fray::node {

struct JobRules {
  std::uint32_t max_processes = 0;
  job::Retention retention;

  // `variable`: its value, or nullptr.
  static Result<JobRules> read(const std::function<const char*(const char* name)>& variable);
  static Result<JobRules> read();
};

}  // namespace fray::node
