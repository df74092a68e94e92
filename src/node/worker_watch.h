// WorkerWatch: looks at the processes that run tasks. A death announces itself; a stop does not, so it is looked for.
//
// It looks each second while leased workers run something, less often while they do not, and never without a lease: an
// idle node sleeps. A worker that is stopped (by a signal or a debugger) is not dead: its tasks wait, `fray status` says
// so, and after two seconds those who see its output are told once.
//
// Threading:  the node's loop.
// Ownership:  refers to the parts of the node, which must outlive it; owns its timer.
// Failure:    none: a process that cannot be looked at is not stopped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "event/loop.h"
#include "node/worker_processes.h"
#include "scheduler/lease_table.h"

namespace fray::node {

class WorkerWatch {
 public:
  // A line about a worker for whoever sees its output.
  using Say = std::function<void(ProcessId worker, const std::string& line)>;

  WorkerWatch(event::Loop& loop, WorkerProcesses& processes, const scheduler::LeaseTable& table, Say say);
  ~WorkerWatch() { loop_.cancel(timer_); }
  WorkerWatch(const WorkerWatch&) = delete;
  WorkerWatch& operator=(const WorkerWatch&) = delete;

  // After each round: leases may have come or gone.
  void follow_leases();
  // At all workers, now.
  void look_for_stops();
  // When it was first seen stopped (CLOCK_MONOTONIC); 0: it is not.
  std::uint64_t stopped_since_ns(ProcessId worker) const;

 private:
  struct Stop {
    std::uint64_t since_ns = 0;
    bool told = false;
  };

  void plan(std::chrono::milliseconds delay);
  void look();
  bool somebody_works() const;
  void tell_of_stops();

  event::Loop& loop_;
  WorkerProcesses& processes_;
  const scheduler::LeaseTable& table_;
  const Say say_;
  std::unordered_map<ProcessId, Stop> stops_;
  std::size_t leases_ = 0;  // in the last round
  std::chrono::milliseconds pause_{0};
  event::TimerId timer_ = 0;
};

}  // namespace fray::node
