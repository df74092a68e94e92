// Timeline: the latest runs of this client's tasks, and why tasks failed, for fray.timeline() and fray.report().
//
//   timeline.add("train.step", run);
//   auto [runs, names] = timeline.runs();  // names[run.name] is "train.step"
//
// A name is kept once for all of its runs. Nothing else is kept of functions, because their payloads may be large.
//
// Threading:  guarded by Client's mutex.
// Ownership:  values.
// Failure:    none; beyond kCapacity runs, or kMostNameBytes of names, the oldest runs are forgotten and counted in
//             dropped(). The first kMostFailures failures are kept, as far as kMostFailureBytes goes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "wire/direct.h"

namespace fray::client {

class Timeline {
 public:
  static constexpr std::size_t kCapacity = 200'000;
  static constexpr std::size_t kMostNameBytes = 16u << 20;

  struct Run {
    std::uint64_t task = 0;
    std::uint64_t started_ns = 0;  // CLOCK_MONOTONIC
    std::uint64_t duration_ns = 0;
    std::int32_t pid = 0;
    wire::TaskStatus status = wire::TaskStatus::kOk;
    std::uint64_t cpu_ns = wire::ResultHead::kNotMeasured;
    std::uint64_t peak_memory_bytes = wire::ResultHead::kNotMeasured;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint32_t name = 0;    // the place of its name in `names`; set by add()
    std::uint8_t attempt = 0;  // retries before it
  };

  struct Runs {
    std::vector<Run> runs;  // oldest first
    std::vector<std::string> names;
  };

  static constexpr std::size_t kMostFailures = 500;
  static constexpr std::size_t kMostFailureBytes = 16u << 20;       // of all of them
  static constexpr std::size_t kMostBytesOfOneFailure = 64u << 10;  // a packed exception cannot be cut

  // How a task has failed: a packed exception, or a status of the engine as text.
  struct Failure {
    std::string name;
    std::uint64_t task = 0;
    bool packed = false;
    std::string bytes;
  };

  void add(std::string_view name, Run run);
  void add_failure(std::string_view name, std::uint64_t task, bool packed, std::string_view bytes);

  const std::vector<Failure>& failures() const { return failures_; }
  Runs runs() const;
  std::uint64_t dropped() const { return dropped_; }
  // How many runs were ever added. visit_since() gives the runs after the first `since` of them that are still kept, with
  // their names, the oldest first.
  std::uint64_t added() const { return dropped_ + count_; }
  template <typename Visit>
  void visit_since(std::uint64_t since, Visit visit) const {
    const std::size_t passed = since > dropped_ ? static_cast<std::size_t>(since - dropped_) : 0;
    for (std::size_t i = passed; i < count_; ++i) {
      const std::size_t place = oldest_ + i;
      const Run& run = ring_[place < ring_.size() ? place : place - ring_.size()];
      visit(run, names_[run.name].text);
    }
  }

 private:
  struct Name {
    std::string text;
    std::uint64_t runs = 0;  // 0: the place is free
  };

  std::uint32_t place_of(std::string_view name);
  void drop_oldest();
  void grow();

  std::vector<Run> ring_;
  std::size_t oldest_ = 0;
  std::size_t count_ = 0;
  std::deque<Name> names_;  // their texts stay where they are
  std::unordered_map<std::string_view, std::uint32_t> places_;
  std::vector<std::uint32_t> free_places_;
  std::uint32_t last_place_ = 0;  // of the name of the last run; most runs have the same name
  std::size_t name_bytes_ = 0;
  std::vector<Failure> failures_;
  std::size_t failure_bytes_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace fray::client
