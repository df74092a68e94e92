// Order: what a supervisor is to do. The node writes it as the file `order` into an attempt's folder; its format is in
// docs/formats/job-order.md.
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

#include "base/status.h"
#include "os/limits/limit_plan.h"

namespace fray::supervisor {

struct LogLimits {
  std::uint64_t segment_bytes = 64u << 20;
  std::uint32_t segments = 8;  // of each stream; the oldest goes when there is one more

  static void visit(auto& limits, auto&& field) {
    field("segment_bytes", limits.segment_bytes);
    field("segments", limits.segments);
  }
};

struct Order {
  static constexpr std::uint32_t kFormat = 2;

  std::string job;
  std::uint32_t attempt = 1;
  std::uint32_t replicas = 1;
  std::vector<std::string> command;
  std::string folder;
  std::string environment_file;
  std::vector<std::pair<std::string, std::string>> variables;  // beside and before those of the file
  double grace_seconds = 5;
  pid_t dies_with = 0;  // the process that starts it: everything is killed when that ends; 0: nobody
  LogLimits log;
  os::LimitRequest limits;  // of all replicas together, but for files

  static void visit(auto& order, auto&& field) {
    field("job", order.job);
    field("attempt", order.attempt);
    field("replicas", order.replicas);
    field("command", order.command);
    field("folder", order.folder);
    field("environment_file", order.environment_file);
    field("variables", order.variables);
    field("grace_seconds", order.grace_seconds);
    field("dies_with", order.dies_with);
    field("log", order.log);
    field("limits", order.limits);
  }

  Status write(const std::string& path) const;
  static Result<Order> read(const std::string& path);
};

std::string attempt_folder(const std::string& job_folder, std::uint32_t attempt);

// Of the files in an attempt's folder.
inline constexpr const char* kOrderName = "/order";
inline constexpr const char* kLockName = "/lock";
inline constexpr const char* kSupervisorName = "/supervisor.json";
inline constexpr const char* kExitName = "/exit.json";
std::string error_name(std::uint32_t replica);  // "/0.error"

}  // namespace fray::supervisor
