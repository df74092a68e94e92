// Timeline: the last task runs of this client, and why tasks failed, for fray.timeline() and fray.report().
//
// Threading:  guarded by Client's mutex.
// Ownership:  values.
// Failure:    none; beyond kCapacity runs the oldest are overwritten and counted in dropped(). The first kMostFailures
//             failures are kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/task.h"

namespace fray::client {

class Timeline {
 public:
  static constexpr std::size_t kCapacity = 200'000;

  struct Run {
    std::shared_ptr<const Function> function;
    std::uint64_t task = 0;
    std::uint64_t started_ns = 0;  // CLOCK_MONOTONIC
    std::uint64_t duration_ns = 0;
    std::int32_t pid = 0;
    wire::TaskStatus status = wire::TaskStatus::kOk;
    std::uint64_t cpu_ns = wire::ResultHead::kNotMeasured;
    std::uint64_t peak_memory_bytes = wire::ResultHead::kNotMeasured;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
  };

  static constexpr std::size_t kMostFailures = 500;
  static constexpr std::size_t kMostFailureBytes = 64u << 10;

  // What a task ended with that did not succeed: a packed exception, or a status of the engine as text.
  struct Failure {
    std::shared_ptr<const Function> function;
    std::uint64_t task = 0;
    bool packed = false;
    std::string bytes;
  };

  void add(Run run) {
    if (runs_.size() < kCapacity) {
      runs_.push_back(std::move(run));
      return;
    }
    runs_[next_] = std::move(run);
    next_ = (next_ + 1) % kCapacity;
    ++dropped_;
  }
  void add_failure(std::shared_ptr<const Function> function, std::uint64_t task, bool packed, std::string_view bytes) {
    if (failures_.size() >= kMostFailures || (packed && bytes.size() > kMostFailureBytes)) return;
    failures_.push_back({std::move(function), task, packed, std::string(bytes)});
  }
  const std::vector<Failure>& failures() const { return failures_; }
  const std::vector<Run>& runs() const { return runs_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::vector<Run> runs_;
  std::vector<Failure> failures_;
  std::size_t next_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace fray::client
