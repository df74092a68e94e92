// RunBoard: the tasks that clients of a node have reported: a table of functions, and the latest bars of the task
// stream.
//
//   board.told(client, told, true, now, process_of);
//   board.tick();                                     // every half second: rates are of the last ten seconds
//   board.bars_after(after, limit);
//
// Functions and workers are numbered in the order of their first report; a number never changes. The worker of a bar is
// its place in workers().
//
// Threading:  one thread; pure.
// Ownership:  values, bounded: kMostBars bars (6.4 MB), kMostFunctions functions (2.6 MB), kMostFailures texts.
// Failure:    none. Functions beyond the bound are counted as kOthers; the oldest bars are forgotten and counted in
//             left_out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "model/ids.h"
#include "wire/runs.h"

namespace fray::dashboard {

struct Bar {
  ProcessId client = 0;
  std::uint32_t function = 0;
  std::uint32_t worker = 0;
  wire::RunBar run;
};

struct FunctionRow {
  std::string name;
  wire::RunSums sums;
  std::array<std::uint64_t, wire::kTimeBuckets> times{};
  std::array<std::uint32_t, 20> recent{};  // that ended in each of the last half seconds

  double per_second() const;
  // The counts of another function, added to this one's; rates stay.
  void add(const FunctionRow& other);
  void add(const wire::RunSums& more);
  // How many took less than 2^octave nanoseconds; octave >= 10.
  std::uint64_t shorter_than_octave(int octave) const;
  // In nanoseconds; 0 when nothing ran.
  double percentile(double share) const;
};

struct WorkerRow {
  std::int32_t pid = 0;
  ProcessId process = 0;  // 0: not known any more when it was told of
};

class RunBoard {
 public:
  static constexpr std::size_t kMostBars = 80'000;
  static constexpr std::size_t kMostFunctions = 2'000;
  static constexpr std::size_t kMostFailures = 2'000;
  static constexpr const char* kOthers = "(others)";

  // `is_news`: it ran since the last half seconds, and not before somebody looked.
  void told(ProcessId client, const wire::RunsTold& told, bool is_news,
            FunctionRef<ProcessId(std::int32_t pid)> process_of);
  void tick();
  void client_left(ProcessId client) { unfinished_.erase(client); }

  struct Slice {
    std::vector<Bar> bars;
    std::uint64_t next = 0;
    std::uint64_t left_out = 0;
  };
  // The newest of those that came after the first `after`.
  Slice bars_after(std::uint64_t after, std::size_t limit) const;
  // Those that ended at `end_ns` or later.
  std::uint64_t first_ended_after(std::uint64_t end_ns) const;
  std::vector<Bar> runs_of(ProcessId client, std::uint64_t task) const;
  const std::deque<Bar>& bars() const { return bars_; }
  const std::string* failure_of(ProcessId client, std::uint64_t task) const;

  std::uint32_t function_number(const std::string& name);
  std::uint32_t worker_number(std::int32_t pid, ProcessId process);
  const std::deque<FunctionRow>& functions() const { return functions_; }
  const std::vector<WorkerRow>& workers() const { return workers_; }

  std::uint64_t ended() const { return ended_; }
  std::uint64_t failed() const { return failed_; }
  // Of the last half seconds.
  double per_second() const;
  double failed_per_second() const;
  std::uint64_t unfinished() const;
  std::uint64_t unfinished_of(ProcessId client) const;
  std::uint64_t calls_of(const ActorId& actor) const;

 private:
  struct Unfinished {
    std::uint64_t tasks = 0;
    std::vector<std::pair<ActorId, std::uint32_t>> calls;
  };

  void add_sums(FunctionRow& row, const wire::RunSums& sums, bool is_news);
  void add_bar(Bar bar);

  std::deque<FunctionRow> functions_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<WorkerRow> workers_;
  std::unordered_map<std::int32_t, std::uint32_t> worker_numbers_;  // by pid
  std::deque<Bar> bars_;
  std::uint64_t first_bar_ = 0;        // how many were forgotten
  std::deque<std::uint64_t> through_;  // by bar: runs up to its end, those that are in no bar among them
  std::uint64_t forgotten_runs_ = 0;   // up to the last bar that was forgotten
  std::uint64_t all_runs_ = 0;
  std::map<std::pair<ProcessId, std::uint64_t>, std::string> failures_;
  std::deque<std::pair<ProcessId, std::uint64_t>> failure_order_;
  std::map<ProcessId, Unfinished> unfinished_;  // as each client last said
  std::uint64_t ended_ = 0;
  std::uint64_t failed_ = 0;
  std::array<std::uint64_t, 4> recent_{};  // of the last half seconds; the first is the present one
  std::array<std::uint64_t, 4> recent_failed_{};
};

}  // namespace fray::dashboard
