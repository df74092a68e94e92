#include "client/tasks/run_sums.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace fray::client {

namespace {

constexpr std::size_t kMostFailureText = 2000;

// The readable part of a failure: a packed exception begins with the length and the text of its traceback, whose end
// says what happened.
std::string readable_part(const Timeline::Failure& failure) {
  std::string_view text = failure.bytes;
  if (failure.packed) {
    wire::ByteReader in(text);
    const auto size = in.get<std::uint32_t>();
    text = in.get_raw(size);
    if (!in.ok()) return {};
  }
  if (text.size() <= kMostFailureText) return std::string(text);
  return "…" + std::string(text.substr(text.size() - kMostFailureText));
}

class RunSummary {
 public:
  void add(const Timeline::Run& run, std::string_view name) {
    const std::uint32_t function = place_of(run.name, name);
    add_to_sums(run, function);
    add_to_bars(run, function);
  }

  void finish(wire::RunsTold& told) {
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      for (std::uint8_t bucket = 0; bucket < wire::kTimeBuckets; ++bucket) {
        if (times_[i][bucket] > 0) functions_[i].times.emplace_back(bucket, times_[i][bucket]);
      }
    }
    told.functions = std::move(functions_);
    const std::size_t extra = bars_.size() - std::min(bars_.size(), kMostBars);
    for (std::size_t i = 0; i < extra; ++i) told.left_out += bars_[i].count;
    told.bars.assign(bars_.begin() + static_cast<std::ptrdiff_t>(extra), bars_.end());
  }

 private:
  using Times = std::array<std::uint32_t, wire::kTimeBuckets>;

  // `number`: the name's place in the timeline.
  std::uint32_t place_of(std::uint32_t number, std::string_view name) {
    if (number == last_number_) return last_place_;
    last_number_ = number;
    auto known = places_.find(number);
    if (known != places_.end()) return last_place_ = known->second;
    const bool is_other = functions_.size() >= kMostFunctions;
    if (is_other && others_ != 0) return last_place_ = places_[number] = others_;
    last_place_ = places_[number] = static_cast<std::uint32_t>(functions_.size());
    if (is_other) others_ = last_place_;
    functions_.emplace_back().name = is_other ? kOtherFunctions : std::string(name.substr(0, kMostFunctionNameBytes));
    times_.emplace_back();
    return last_place_;
  }

  static std::uint64_t& count_of(wire::RunSums& sums, wire::TaskStatus status) {
    switch (status) {
      case wire::TaskStatus::kOk:
        return sums.ok;
      case wire::TaskStatus::kFailed:
        return sums.failed;
      case wire::TaskStatus::kCancelled:
        return sums.cancelled;
      case wire::TaskStatus::kTimedOut:
        return sums.timed_out;
      case wire::TaskStatus::kRetry:
        break;
    }
    return sums.retried;
  }

  void add_to_sums(const Timeline::Run& run, std::uint32_t function) {
    wire::RunSums& sums = functions_[function];
    ++count_of(sums, run.status);
    ++times_[function][wire::time_bucket(run.duration_ns)];
    sums.total_ns += run.duration_ns;
    sums.longest_ns = std::max(sums.longest_ns, run.duration_ns);
    sums.bytes_in += run.bytes_in;
    sums.bytes_out += run.bytes_out;
    sums.last_end_ns = std::max(sums.last_end_ns, run.started_ns + run.duration_ns);
    if (run.cpu_ns != wire::ResultHead::kNotMeasured) {
      ++sums.measured;
      sums.cpu_ns += run.cpu_ns;
    }
    if (run.peak_memory_bytes != wire::ResultHead::kNotMeasured) {
      sums.peak_memory_bytes = std::max(sums.peak_memory_bytes, run.peak_memory_bytes);
    }
  }

  void add_to_bars(const Timeline::Run& run, std::uint32_t function) {
    const bool is_short = run.status == wire::TaskStatus::kOk && run.duration_ns <= kLongestShortNs;
    auto open = open_.find(run.pid);
    if (is_short && open != open_.end() && joins(bars_[open->second], run, function)) {
      return join(bars_[open->second], run);
    }
    if (is_short) {
      open_[run.pid] = bars_.size();
    } else if (open != open_.end()) {
      open_.erase(open);
    }
    bars_.push_back({function, run.pid, run.started_ns, run.duration_ns, 1, run.status, run.attempt, run.task,
                     run.cpu_ns, run.peak_memory_bytes, run.bytes_in, run.bytes_out});
  }

  static bool joins(const wire::RunBar& bar, const Timeline::Run& run, std::uint32_t function) {
    const std::uint64_t end = bar.started_ns + bar.lasting_ns;
    return bar.function == function && run.started_ns >= bar.started_ns && run.started_ns <= end + kLongestGapNs &&
           run.started_ns + run.duration_ns <= bar.started_ns + kLongestBarNs;
  }

  static void join(wire::RunBar& bar, const Timeline::Run& run) {
    ++bar.count;
    bar.lasting_ns = std::max(bar.lasting_ns, run.started_ns + run.duration_ns - bar.started_ns);
    const bool measured = bar.cpu_ns != wire::ResultHead::kNotMeasured && run.cpu_ns != wire::ResultHead::kNotMeasured;
    bar.cpu_ns = measured ? bar.cpu_ns + run.cpu_ns : wire::ResultHead::kNotMeasured;
    if (run.peak_memory_bytes != wire::ResultHead::kNotMeasured &&
        bar.peak_memory_bytes != wire::ResultHead::kNotMeasured) {
      bar.peak_memory_bytes = std::max(bar.peak_memory_bytes, run.peak_memory_bytes);
    }
    bar.bytes_in += run.bytes_in;
    bar.bytes_out += run.bytes_out;
  }

  std::vector<wire::RunSums> functions_;
  std::vector<Times> times_;
  std::vector<wire::RunBar> bars_;
  std::unordered_map<std::uint32_t, std::uint32_t> places_;
  std::unordered_map<std::int32_t, std::size_t> open_;  // by worker: the bar that a short run may join
  std::uint32_t last_number_ = ~0u;
  std::uint32_t last_place_ = 0;
  std::uint32_t others_ = 0;  // place of the sum of all others; 0: there is none yet
};

}  // namespace

wire::RunsTold runs_since(const wire::TellRuns& question, const Timeline& timeline) {
  wire::RunsTold told;
  told.next = timeline.added();
  const std::uint64_t since = std::min(question.since, told.next);
  told.forgotten = timeline.dropped() > since ? timeline.dropped() - since : 0;
  RunSummary summary;
  timeline.visit_since(since, [&](const Timeline::Run& run, std::string_view name) { summary.add(run, name); });
  summary.finish(told);
  const auto& failures = timeline.failures();
  told.failures = failures.size();
  for (std::size_t i = std::min<std::uint64_t>(question.failures, failures.size()); i < failures.size(); ++i) {
    told.failed.push_back({failures[i].task, readable_part(failures[i])});
  }
  return told;
}

}  // namespace fray::client
