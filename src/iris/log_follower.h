// LogFollower: a job's output as it comes: of all its tasks and attempts, over cuts, to what comes after the job's end.
//
//   LogFollower log(jobs, id, 0);
//   while (true) {
//     FRAY_ASSIGN_OR_RETURN(auto lines, log.next(1s));
//     for (const LogLine& line : lines) print(line);
//     if (lines.empty() && log.is_over()) break;
//   }
//
// Lines come some time after they were written, the last ones after the end of their job: so once the job is over it is
// waited for a while longer, and what has come is read. How long, FRAY_IRIS_LATE_SECONDS says; 1.5 where it says nothing,
// since workers send their lines once a second.
//
// Threading:  one thread; next() blocks for its patience, and as long as the controller may be away.
// Ownership:  `jobs` must outlive it.
// Failure:    as Jobs says. cursor() tells where to go on; the job itself may go on. kInvalidArgument for a variable that
//             is no number of seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "iris/jobs.h"

namespace fray::iris {

class LogFollower {
 public:
  static constexpr const char* kLateVariable = "FRAY_IRIS_LATE_SECONDS";

  // `job` is an id; children are read too if that is wanted.
  LogFollower(const Jobs& jobs, std::string job, std::int64_t cursor, bool with_children = false)
      : jobs_(jobs), job_(std::move(job)), with_children_(with_children), cursor_(cursor) {}

  // What has come, once something has; nothing after `patience`, and at the end.
  Result<std::vector<LogLine>> next(std::chrono::milliseconds patience);
  bool is_over() const { return is_over_; }
  std::int64_t cursor() const { return cursor_; }

 private:
  using Clock = std::chrono::steady_clock;

  Result<std::vector<LogLine>> read();
  Status look_at_job();

  const Jobs& jobs_;
  const std::string job_;
  const bool with_children_;
  std::int64_t cursor_;
  std::optional<Clock::time_point> ended_;
  bool is_over_ = false;
  std::chrono::milliseconds pause_{0};
};

}  // namespace fray::iris
