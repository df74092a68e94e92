// TaskMeter: what a task costs: CPU time of this process and its children, and the peak of its memory.
//
// Reading the clocks takes one microsecond, and having the kernel forget an earlier peak five. So only those tasks are measured
// for which that is little: functions whose last run was long, and each function the first time. Other runs are marked as not
// measured. The peak is that of getrusage(), for which the kernel adds up
// counts of each CPU that may lag behind.
//
// Threading:  the task thread alone. begin() and end() take turns.
// Ownership:  remembers the last duration of each function.
// Failure:    what the system does not tell counts as not measured.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "wire/direct.h"
#include "worker/pacing.h"

namespace fray::worker {

struct TaskCost {
  std::uint64_t cpu_ns = wire::ResultHead::kNotMeasured;
  std::uint64_t peak_memory_bytes = wire::ResultHead::kNotMeasured;
};

class TaskMeter {
 public:
  static constexpr std::uint64_t kMeasureCpuFromNs = kShortNs;
  static constexpr std::uint64_t kMeasureMemoryFromNs = 2'000'000;

  void begin(std::uint64_t function);
  // Whether the function that runs was short the last time, or slow. Neither when it has not run before.
  bool is_short() const { return *last_ < kShortNs; }
  bool is_slow() const { return *last_ >= kSlowNs && *last_ != kNeverRan; }
  TaskCost end(std::uint64_t duration_ns);
  void forget(std::uint64_t function);

 private:
  static constexpr std::uint64_t kNeverRan = ~std::uint64_t{0};

  std::unordered_map<std::uint64_t, std::uint64_t> last_duration_ns_;
  std::uint64_t function_ = 0;
  std::uint64_t* last_ = nullptr;  // of function_
  std::uint64_t cpu_before_ns_ = 0;
  bool measures_cpu_ = false;
  bool measures_memory_ = false;
};

}  // namespace fray::worker
