// Timeline: the last task runs of this client, for fray.timeline().
//
// Threading:  guarded by Client's mutex.
// Ownership:  values.
// Failure:    none; beyond kCapacity runs the oldest are overwritten and counted in dropped().
#pragma once

#include <cstdint>
#include <memory>
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
  const std::vector<Run>& runs() const { return runs_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  std::vector<Run> runs_;
  std::size_t next_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace fray::client
