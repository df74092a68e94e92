#include "iris/log_follower.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "http_client/backoff.h"

namespace fray::iris {

namespace {

constexpr std::chrono::milliseconds kShortestPause{100};
constexpr std::chrono::milliseconds kLongestPause{1'000};
constexpr double kUsuallyLate = 1.5;
constexpr double kLatest = 3'600;

// How long after the end of a job or an attempt its lines may come.
Result<std::chrono::duration<double>> late_limit() {
  const char* text = std::getenv(LogFollower::kLateVariable);
  if (text == nullptr || *text == '\0') return std::chrono::duration<double>(kUsuallyLate);
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end == '\0' && seconds >= 0 && seconds <= kLatest) return std::chrono::duration<double>(seconds);
  return Status(StatusCode::kInvalidArgument, fmt::format("{} must be a number of seconds from 0 to {}, got '{}'",
                                                          LogFollower::kLateVariable, kLatest, text));
}

}  // namespace

// A page may have nothing of the job itself while there is more behind it.
Result<std::vector<LogLine>> LogFollower::read() {
  while (true) {
    const std::int64_t before = cursor_;
    FRAY_ASSIGN_OR_RETURN(std::vector<LogLine> lines, jobs_.read_log(job_, &cursor_));
    if (!choice_.with_children) std::erase_if(lines, [this](const LogLine& line) { return line.job != job_; });
    if (!lines.empty() || cursor_ == before) return lines;
  }
}

Result<bool> LogFollower::has_ended() const {
  if (choice_.attempt) {
    FRAY_ASSIGN_OR_RETURN(const JobDetails job, jobs_.get(job_));
    return std::ranges::all_of(job.tasks, [this](const TaskDetails& task) {
      return task.attempt > *choice_.attempt || is_final(task.status);
    });
  }
  FRAY_ASSIGN_OR_RETURN(const auto states, jobs_.states({job_}));
  const auto found = states.find(job_);
  if (found == states.end()) return jobs_.not_there(job_);
  return fray::iris::is_over(found->second);
}

Result<std::vector<LogLine>> LogFollower::next(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  FRAY_ASSIGN_OR_RETURN(const auto late, late_limit());
  while (!is_over_) {
    // Looked at before it is read: what was there at the end is read after it.
    if (!ended_) {
      FRAY_ASSIGN_OR_RETURN(const bool is_ended, has_ended());
      if (is_ended) ended_ = Clock::now();
    }
    const bool is_last = ended_ && Clock::now() - *ended_ >= late;
    FRAY_ASSIGN_OR_RETURN(std::vector<LogLine> lines, read());
    if (!lines.empty()) {
      pause_ = std::chrono::milliseconds(0);
      return lines;
    }
    is_over_ = is_last;
    if (is_over_ || Clock::now() >= deadline) break;
    pause_ = std::clamp(pause_ * 2, kShortestPause, ended_ ? kShortestPause : kLongestPause);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (!http_client::pause(jobs_.endpoint(), std::clamp(left, std::chrono::milliseconds(0), pause_))) {
      return Status(StatusCode::kCancelled, fmt::format("interrupted while following the output of the job {}", job_));
    }
  }
  return std::vector<LogLine>();
}

}  // namespace fray::iris
