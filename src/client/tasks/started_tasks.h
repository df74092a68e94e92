// StartedTasks: the numbers of the tasks that each running call of an actor has started.
//
// A worker that runs one task at a time knows them by their numbers alone (Submission::cancel_between). Calls of an
// actor overlap, so the numbers that each call has started are noted. Consecutive numbers make one run: a call that starts
// a million tasks in a row costs one entry.
//
// Threading:  guarded by the client's mutex; empty() from any thread.
// Ownership:  values.
// Failure:    none; an unknown call has started nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fray::client {

class StartedTasks {
 public:
  using Run = std::pair<std::uint64_t, std::uint64_t>;  // the first number, and the one after the last

  // `call`: 0 for a task that no call has started.
  void note(std::uint64_t call, std::uint64_t number) {
    const bool goes_on = std::exchange(last_caller_, call) == call;
    if (call == 0) return;
    std::vector<Run>& runs = by_call_[call];
    if (goes_on && !runs.empty()) {
      runs.back().second = number + 1;
    } else {
      runs.emplace_back(number, number + 1);
    }
    calls_.store(by_call_.size(), std::memory_order_relaxed);
  }
  std::vector<Run> of(std::uint64_t call) const {
    auto found = by_call_.find(call);
    return found == by_call_.end() ? std::vector<Run>() : found->second;
  }
  void forget(std::uint64_t call) {
    by_call_.erase(call);
    calls_.store(by_call_.size(), std::memory_order_relaxed);
  }
  bool empty() const { return calls_.load(std::memory_order_relaxed) == 0; }

 private:
  std::unordered_map<std::uint64_t, std::vector<Run>> by_call_;
  std::uint64_t last_caller_ = 0;  // the call that was noted last
  std::atomic<std::size_t> calls_ = 0;
};

}  // namespace fray::client
