// Order: what a supervisor is to run. The node writes the order into the file `order` in the folder of an attempt;
// docs/formats/job-order.md describes the format.
//
//   <jobs folder>/<id>/environment            NAME=VALUE, each ended by NUL; mode 0600
//                      attempt-<n>/order
//                                  lock              flock'ed while the supervisor lives
//                                  supervisor.json   pid and start time of the supervisor
//                                  0.out.0 ...       output (supervisor/log_files.h)
//                                  0.error           the reason that replica 0 gives for its failure, if any
//                                  exit.json         how the attempt ended (supervisor/exit_report.h)
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    read() returns kIoError, or kCorruption for a file that is no order of this release's format.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/fields.h"
#include "base/status.h"
#include "os/limits/limit_plan.h"

namespace fray::supervisor {

struct LogLimits {
  std::uint64_t segment_bytes = 64u << 20;
  std::uint32_t segments = 8;  // most files of each stream; a further one replaces the oldest

  FRAY_FIELDS(segment_bytes, segments);
};

struct Order {
  static constexpr std::uint32_t kFormat = 2;

  std::string job;
  std::uint32_t attempt = 1;
  std::uint32_t replicas = 1;
  std::vector<std::string> command;
  std::string folder;
  std::string environment_file;
  std::vector<std::pair<std::string, std::string>> variables;  // they override those of the environment file
  double grace_seconds = 5;
  pid_t dies_with = 0;  // the process that starts the supervisor, if its end shall end the attempt; 0 if not
  LogLimits log;
  os::LimitRequest limits;  // of all replicas together; only the limit of open files is that of each process

  FRAY_FIELDS(job, attempt, replicas, command, folder, environment_file, variables, grace_seconds, dies_with, log,
              limits);

  Status write(const std::string& path) const;
  static Result<Order> read(const std::string& path);
};

std::string attempt_folder(const std::string& job_folder, std::uint32_t attempt);

// Names of the files in the folder of an attempt, to be appended to its path.
inline constexpr const char* kOrderName = "/order";
inline constexpr const char* kLockName = "/lock";
inline constexpr const char* kSupervisorName = "/supervisor.json";
inline constexpr const char* kExitName = "/exit.json";
std::string error_name(std::uint32_t replica);  // "/0.error"

}  // namespace fray::supervisor
