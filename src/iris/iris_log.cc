#include "iris/iris_log.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "iris/log_follower.h"

namespace fray::iris {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLogPatience{1'000};
// How long after the end of a job its last lines are awaited. The clocks of this machine and of the controller may
// differ.
constexpr std::int64_t kFreshMs = 5'000;
constexpr int kMostAttempts = 1'000'000'000;  // an upper bound for the number of an attempt
constexpr std::uint8_t kOutput = 1;
constexpr std::uint8_t kErrors = 2;
constexpr std::int64_t kNsPerLogMs = 1'000'000;

using Stream = std::pair<int, std::uint8_t>;  // the task and the stream

Stream stream_of(const LogLine& line) { return {line.task, line.stream == "stdout" ? kOutput : kErrors}; }

// Which lines the log contains.
struct Choice {
  bool follow = false;
  std::optional<int> attempt;  // counted from 0; else each task's newest
  std::map<int, int> newest;   // by task
  std::int64_t since_ms = 0;

  bool has(const LogLine& line) const {
    const auto found = newest.find(line.task);
    const int first = attempt ? *attempt : found == newest.end() ? 0 : found->second;
    const bool is_of_attempt = follow && !attempt ? line.attempt >= first : line.attempt == first;
    return is_of_attempt && line.time_ms >= since_ms;
  }
};

class IrisLog : public cluster::JobLog {
 public:
  IrisLog(const Jobs& jobs, const JobDetails& job, Choice choice, std::optional<std::uint64_t> tail, bool to_end)
      : jobs_(jobs), job_(job.id), of_several_(job.replicas > 1), choice_(std::move(choice)), tail_(tail) {
    if (to_end) follow_from(0);
  }

  Result<LogBatch> next(const Patience& patience) override {
    if (tail_) FRAY_RETURN_IF_ERROR(read_tail(patience));
    while (ready_.empty() && !is_over_) {
      FRAY_RETURN_IF_ERROR(read(patience));
    }
    if (ready_.empty()) return LogBatch();
    LogBatch batch = std::move(ready_.front());
    ready_.pop_front();
    return batch;
  }

 private:
  void follow_from(std::int64_t cursor) {
    follower_.emplace(jobs_, job_, cursor, LogFollower::Choice{.attempt = choice_.attempt});
  }

  // The next lines. is_over_ is set after the last ones.
  Result<std::vector<LogLine>> read_lines(const Patience& patience) {
    std::vector<LogLine> lines;
    if (follower_) {
      FRAY_ASSIGN_OR_RETURN(lines, follower_->next(kLogPatience));
      is_over_ = lines.empty() && follower_->is_over();
      if (lines.empty() && patience.deadline && std::chrono::steady_clock::now() >= *patience.deadline) {
        return Status(StatusCode::kTimedOut, "the time is up");
      }
    } else {
      const std::int64_t before = cursor_;
      FRAY_ASSIGN_OR_RETURN(lines, jobs_.read_log(job_, &cursor_));
      is_over_ = cursor_ == before;
    }
    std::erase_if(lines, [this](const LogLine& line) { return line.job != job_ || !choice_.has(line); });
    return lines;
  }

  Status read(const Patience& patience) {
    FRAY_ASSIGN_OR_RETURN(const std::vector<LogLine> lines, read_lines(patience));
    for (const LogLine& line : lines) add(line);
    return Status::ok();
  }

  // The last lines of each stream so far, in the order in which they came; what is followed goes on behind them.
  Status read_tail(const Patience& patience) {
    const std::uint64_t most = *std::exchange(tail_, std::nullopt);
    if (choice_.follow) follower_.reset();
    std::map<Stream, std::deque<std::pair<std::uint64_t, LogLine>>> kept;
    std::uint64_t number = 0;
    while (!is_over_) {
      FRAY_ASSIGN_OR_RETURN(std::vector<LogLine> lines, read_lines(patience));
      for (LogLine& line : lines) {
        auto& of_stream = kept[stream_of(line)];
        of_stream.emplace_back(number++, std::move(line));
        if (of_stream.size() > most) of_stream.pop_front();
      }
    }
    std::map<std::uint64_t, const LogLine*> in_order;
    for (const auto& [stream, lines] : kept) {
      for (const auto& [at, line] : lines) in_order[at] = &line;
    }
    for (const auto& [at, line] : in_order) add(*line);
    if (choice_.follow) {
      follow_from(cursor_);
      is_over_ = false;
    }
    return Status::ok();
  }

  void add(const LogLine& line) {
    const auto attempt = static_cast<std::uint32_t>(line.attempt) + 1;
    if (ready_.empty() || ready_.back().attempt != attempt) {
      ready_.push_back({.attempt = attempt, .of_several = of_several_, .pieces = {}});
    }
    const auto [task, stream] = stream_of(line);
    std::uint64_t& offset = offsets_[{task, stream}];
    ready_.back().pieces.push_back({{static_cast<std::uint32_t>(task), stream, offset}, 0, line.text + "\n"});
    offset += line.text.size() + 1;
  }

  const Jobs jobs_;
  const std::string job_;
  const bool of_several_;
  const Choice choice_;
  std::optional<std::uint64_t> tail_;
  std::optional<LogFollower> follower_;
  std::int64_t cursor_ = 0;
  bool is_over_ = false;
  std::deque<LogBatch> ready_;
  std::map<Stream, std::uint64_t> offsets_;
};

bool has_just_ended(const JobDetails& job) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return is_over(job.state) && std::chrono::duration_cast<milliseconds>(now).count() - job.finished_ms < kFreshMs;
}

}  // namespace

Result<std::unique_ptr<cluster::JobLog>> open_iris_log(const Jobs& jobs, const JobDetails& job,
                                                       const cluster::LogRequest& request) {
  Choice choice{.follow = request.follow, .since_ms = request.since_unix_ns / kNsPerLogMs};
  int most = 0;
  for (const TaskDetails& task : job.tasks) {
    choice.newest[task.index] = task.attempt;
    most = std::max(most, std::clamp(task.attempt, 0, kMostAttempts) + 1);
  }
  if (request.attempt > 0) {
    if (std::cmp_greater(request.attempt, most)) {
      return Status(StatusCode::kNotFound, fmt::format("the job {} has had {} attempt{}, none with the number {}",
                                                       job.id, most, most == 1 ? "" : "s", request.attempt));
    }
    choice.attempt = static_cast<int>(request.attempt) - 1;
  }
  const bool to_end = request.follow || has_just_ended(job);
  return std::unique_ptr<cluster::JobLog>(
      std::make_unique<IrisLog>(jobs, job, std::move(choice), request.tail_lines, to_end));
}

}  // namespace fray::iris
