// History: the figures of a node while its dashboard was open; older ones are kept at a coarser resolution.
//
//   history.add({time, {3, 2.4, ...}});            // every half second
//   History::Columns columns = history.columns(600, now);
//
// Three levels, of half seconds for ten minutes, of 5 s for two hours, of 60 s for a day. A row of a coarser level is
// the mean of what it covers.
//
// Threading:  one thread; pure.
// Ownership:  values; some 400 KiB at most.
// Failure:    none. Time without samples is a gap, which ends with an empty row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace fray::dashboard {

class History {
 public:
  static constexpr std::array<const char*, 12> kFields = {
      "cpus_leased",      "cpus_busy",         "gpus_leased", "memory_used_bytes", "store_used_bytes", "spilled_bytes",
      "tasks_per_second", "failed_per_second", "running",     "waiting",           "unfinished",       "workers"};
  using Values = std::array<double, kFields.size()>;

  struct Sample {
    double time = 0;  // seconds
    Values values{};
  };
  struct Columns {
    double step = 0;                           // seconds
    std::vector<double> times;                 // the oldest first
    std::vector<std::vector<double>> columns;  // as kFields; NaN: nothing is known
  };

  // Times do not go back.
  void add(const Sample& sample);
  // Of the last `seconds`, from the finest level that has them.
  Columns columns(double seconds, double now) const;

 private:
  struct Level {
    double step = 0;
    std::size_t most = 0;
    std::deque<Sample> samples = {};
    std::int64_t present = -1;  // number of the step that is being summed
    Values sums{};
    std::size_t summed = 0;

    void add(const Sample& sample);
    void close();
  };

  std::array<Level, 3> levels_ = {Level{0.5, 1200}, Level{5, 1440}, Level{60, 1440}};
};

}  // namespace fray::dashboard
