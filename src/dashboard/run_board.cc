#include "dashboard/run_board.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fray::dashboard {

namespace {

constexpr double kTicksPerSecond = 2;
constexpr std::size_t kMostWorkers = 100'000;  // rows of the stream; a node that had more starts to share the last

// The present half second is not over: it does not count.
template <typename Counts>
double rate_of(const Counts& recent) {
  const double sum = static_cast<double>(std::accumulate(recent.begin() + 1, recent.end(), std::uint64_t{0}));
  return sum * kTicksPerSecond / static_cast<double>(recent.size() - 1);
}

template <typename Counts>
void shift(Counts& recent) {
  std::rotate(recent.begin(), recent.end() - 1, recent.end());
  recent.front() = 0;
}

}  // namespace

double FunctionRow::per_second() const { return rate_of(recent); }

double FunctionRow::percentile(double share) const {
  const std::uint64_t count = std::accumulate(times.begin(), times.end(), std::uint64_t{0});
  if (count == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(count - 1));
  std::uint64_t seen = 0;
  for (std::uint8_t bucket = 0; bucket < wire::kTimeBuckets; ++bucket) {
    seen += times[bucket];
    // The middle of the bucket may lie beyond the longest of all.
    if (seen > rank) return static_cast<double>(std::min(wire::time_of_bucket(bucket), sums.longest_ns));
  }
  return static_cast<double>(sums.longest_ns);
}

void RunBoard::told(ProcessId client, const wire::RunsTold& told, bool is_news,
                    FunctionRef<ProcessId(std::int32_t pid)> process_of) {
  std::vector<std::uint32_t> numbers;
  for (const wire::RunSums& sums : told.functions) {
    numbers.push_back(function_number(sums.name));
    add_sums(functions_[numbers.back()], sums, is_news);
  }
  all_runs_ += told.left_out + told.forgotten;
  for (const wire::RunBar& run : told.bars) {
    if (run.function >= numbers.size()) continue;
    add_bar({client, numbers[run.function], worker_number(run.pid, process_of(run.pid)), run});
  }
  for (const wire::RunFailure& failure : told.failed) {
    if (!failures_.insert_or_assign({client, failure.task}, failure.text).second) continue;
    failure_order_.emplace_back(client, failure.task);
    if (failure_order_.size() <= kMostFailures) continue;
    failures_.erase(failure_order_.front());
    failure_order_.pop_front();
  }
  unfinished_[client] = {told.unfinished, told.calls};
}

void FunctionRow::add(const wire::RunSums& more) {
  for (auto count : {&wire::RunSums::ok, &wire::RunSums::failed, &wire::RunSums::cancelled, &wire::RunSums::timed_out,
                     &wire::RunSums::retried, &wire::RunSums::total_ns, &wire::RunSums::measured,
                     &wire::RunSums::cpu_ns, &wire::RunSums::bytes_in, &wire::RunSums::bytes_out}) {
    sums.*count += more.*count;
  }
  for (auto most : {&wire::RunSums::longest_ns, &wire::RunSums::peak_memory_bytes, &wire::RunSums::last_end_ns}) {
    sums.*most = std::max(sums.*most, more.*most);
  }
  for (const auto& [bucket, runs] : more.times) {
    if (bucket < times.size()) times[bucket] += runs;
  }
}

void FunctionRow::add(const FunctionRow& other) {
  add(other.sums);
  for (std::size_t i = 0; i < times.size(); ++i) times[i] += other.times[i];
}

std::uint64_t FunctionRow::shorter_than_octave(int octave) const {
  const int end = wire::time_bucket(std::uint64_t{1} << octave);
  return std::accumulate(times.begin(), times.begin() + end, std::uint64_t{0});
}

void RunBoard::add_sums(FunctionRow& row, const wire::RunSums& sums, bool is_news) {
  row.add(sums);
  const std::uint64_t failed = sums.failed + sums.timed_out;
  ended_ += sums.count();
  failed_ += failed;
  if (!is_news) return;
  row.recent.front() += static_cast<std::uint32_t>(sums.count());
  recent_.front() += sums.count();
  recent_failed_.front() += failed;
}

void RunBoard::add_bar(Bar bar) {
  if (bars_.size() == kMostBars) {
    bars_.pop_front();
    forgotten_runs_ = through_.front();
    through_.pop_front();
    ++first_bar_;
  }
  all_runs_ += bar.run.count;
  bars_.push_back(std::move(bar));
  through_.push_back(all_runs_);
}

void RunBoard::tick() {
  shift(recent_);
  shift(recent_failed_);
  for (FunctionRow& row : functions_) shift(row.recent);
}

std::uint32_t RunBoard::function_number(const std::string& name) {
  auto known = numbers_.find(name);
  if (known != numbers_.end()) return known->second;
  const bool is_full = functions_.size() + 1 >= kMostFunctions;
  if (is_full && name != kOthers) return function_number(kOthers);
  functions_.emplace_back().name = name;
  return numbers_[name] = static_cast<std::uint32_t>(functions_.size() - 1);
}

std::uint32_t RunBoard::worker_number(std::int32_t pid, ProcessId process) {
  auto known = worker_numbers_.find(pid);
  if (known != worker_numbers_.end()) {
    WorkerRow& row = workers_[known->second];
    if (process == 0 || row.process == process) return known->second;
    if (row.process == 0) {
      row.process = process;
      return known->second;
    }
  }
  if (workers_.size() < kMostWorkers) workers_.push_back({pid, process});
  return worker_numbers_[pid] = static_cast<std::uint32_t>(workers_.size() - 1);
}

RunBoard::Slice RunBoard::bars_after(std::uint64_t after, std::size_t limit) const {
  Slice slice;
  slice.next = first_bar_ + bars_.size();
  const std::uint64_t wanted = std::min(after, slice.next);
  const std::uint64_t known = std::max(wanted, first_bar_);
  const std::uint64_t from = std::max(known, slice.next - std::min<std::uint64_t>(slice.next, limit));
  slice.bars.assign(bars_.begin() + static_cast<std::ptrdiff_t>(from - first_bar_), bars_.end());
  // Of bars that were forgotten only the sum of their runs is known: after some of them each counts as one.
  std::uint64_t before = wanted == 0 ? 0 : forgotten_runs_ - std::min(forgotten_runs_, known - wanted);
  if (wanted > first_bar_) before = through_[static_cast<std::size_t>(wanted - first_bar_ - 1)];
  std::uint64_t given = 0;
  for (const Bar& bar : slice.bars) given += bar.run.count;
  slice.left_out = all_runs_ - before - given;
  return slice;
}

std::uint64_t RunBoard::first_ended_after(std::uint64_t end_ns) const {
  std::size_t first = bars_.size();
  while (first > 0 && bars_[first - 1].run.started_ns + bars_[first - 1].run.lasting_ns >= end_ns) --first;
  return first_bar_ + first;
}

std::vector<Bar> RunBoard::runs_of(ProcessId client, std::uint64_t task) const {
  std::vector<Bar> runs;
  for (const Bar& bar : bars_) {
    if (bar.client == client && bar.run.task == task) runs.push_back(bar);
  }
  return runs;
}

const std::string* RunBoard::failure_of(ProcessId client, std::uint64_t task) const {
  auto found = failures_.find({client, task});
  return found == failures_.end() ? nullptr : &found->second;
}

double RunBoard::per_second() const { return rate_of(recent_); }
double RunBoard::failed_per_second() const { return rate_of(recent_failed_); }

std::uint64_t RunBoard::unfinished() const {
  std::uint64_t sum = 0;
  for (const auto& [client, told] : unfinished_) sum += told.tasks;
  return sum;
}

std::uint64_t RunBoard::unfinished_of(ProcessId client) const {
  auto found = unfinished_.find(client);
  return found == unfinished_.end() ? 0 : found->second.tasks;
}

std::uint64_t RunBoard::calls_of(const ActorId& actor) const {
  std::uint64_t sum = 0;
  for (const auto& [client, told] : unfinished_) {
    for (const auto& [called, calls] : told.calls) sum += called == actor ? calls : 0;
  }
  return sum;
}

}  // namespace fray::dashboard
