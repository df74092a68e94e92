// LogFollower: reads a job's output as it is written, of all its tasks and attempts, to the end of the job or of the attempt
// that was chosen. Broken connections do not end it, and it also reads the lines that arrive after that end.
//
//   LogFollower log(jobs, id, 0, {});
//   while (true) {
//     FRAY_ASSIGN_OR_RETURN(auto lines, log.next(1s));
//     for (const LogLine& line : lines) print(line);
//     if (lines.empty() && log.is_over()) break;
//   }
//
// An attempt is at its end when each task has ended or has begun a later one.
//
// Lines arrive some time after they were written, the last ones after the end of their job. So the follower waits for a
// while after the end, for FRAY_IRIS_LATE_SECONDS (1.5 by default, since workers send their lines once a second), and
// reads what has arrived.
//
// Threading:  one thread; next() blocks for its patience, and as long as the controller may be away.
// Ownership:  `jobs` must outlive it.
// Failure:    as Jobs says. cursor() tells where to go on; the job itself may go on. kInvalidArgument for a variable
//             that is no number of seconds.
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

  struct Choice {
    bool with_children = false;
    // With whose end the log ends, counted from 0; none: with the job's. The lines are of all attempts.
    std::optional<int> attempt = std::nullopt;
  };

  // `job` is an id.
  LogFollower(const Jobs& jobs, std::string job, std::int64_t cursor, Choice choice)
      : jobs_(jobs), job_(std::move(job)), choice_(choice), cursor_(cursor) {}

  // Waits for lines and returns them; returns none after `patience`, and at the end.
  Result<std::vector<LogLine>> next(std::chrono::milliseconds patience);
  bool is_over() const { return is_over_; }
  std::int64_t cursor() const { return cursor_; }

 private:
  using Clock = std::chrono::steady_clock;

  Result<std::vector<LogLine>> read();
  Result<bool> has_ended() const;

  const Jobs& jobs_;
  const std::string job_;
  const Choice choice_;
  std::int64_t cursor_;
  std::optional<Clock::time_point> ended_;
  bool is_over_ = false;
  std::chrono::milliseconds pause_{0};
};

}  // namespace fray::iris
