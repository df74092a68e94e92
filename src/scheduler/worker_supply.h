// WorkerSupply: decides which workers are started, kept and stopped.
//
// Workers are started for demands whose resources are there, never more than max_workers; to stay below, idle workers of
// another key are stopped. A worker that dies with a lease is replaced before a demand comes, because its tasks are about
// to be tried again. Of the keys that were used last, as many idle workers are kept as there are CPUs, and one more for
// each blocked worker, in whose place another one may run until it resumes; the others end when they have been idle for a
// minute, or when memory is scarce, unless tasks that they submitted still run. Of other keys none are kept.
//
// Threading:  confined to the LeaseTable that owns it.
// Ownership:  values only; the state must outlive it.
// Failure:    a key whose starts fail again and again is given up (worker_table.h), and nothing is started for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/lease_state.h"

namespace fray::scheduler {

class WorkerSupply {
 public:
  explicit WorkerSupply(LeaseState& state) : state_(state) {}

  // Starts up to `count` workers of this key before there is a demand for them, but not more than the CPUs could use.
  void prestart(WorkerKeyId key, std::uint32_t count);
  // Keys that a demand waits for, that workers are leased for, or that have some on their way.
  std::set<WorkerKeyId> keys_in_use() const;
  // No idle workers of this key are kept any more, until it is used again; once they are gone, it can be forgotten.
  void key_unused(WorkerKeyId key, bool unused);
  void forget_key(WorkerKeyId key);
  void memory_is_scarce(bool scarce);

  // A worker of this key died with a lease.
  void lost(WorkerKeyId key) { lost_.push_back(key); }
  // A worker with devices has served its lease.
  void has_served(ProcessId worker);

  // The decisions of a round: before leases are granted, and after. Returns when to look again at those that are kept.
  void stop_served();
  std::optional<Moment> adjust();

 private:
  static constexpr std::size_t kRecentKeys = 4;  // idle workers of so many keys are kept
  // Those that the CPUs could not use: programs that wait for many tasks at once do so again and again.
  static constexpr Moment kKeepSurplus = std::chrono::minutes(1);

  void start(WorkerKeyId key);
  void start_at_once();
  void start_in_turn();
  bool lacks_worker(WorkerKeyId key);
  bool make_room();
  void start_ahead();
  void replace_lost();
  std::optional<Moment> stop_surplus();
  std::size_t needed(WorkerKeyId key) const;
  std::uint32_t cpus() const;

  LeaseState& state_;
  std::map<WorkerKeyId, std::uint32_t> prestarts_;
  std::vector<WorkerKeyId> lost_;  // since the last decision
  std::set<WorkerKeyId> unused_keys_;
  bool memory_is_scarce_ = false;
  std::map<WorkerKeyId, std::uint32_t> needed_;  // workers that demands could use, as of the last decision
  std::uint32_t needed_dedicated_ = 0;           // of these, dedicated ones
};

}  // namespace fray::scheduler
