// WorkerWatch: looks for what no event tells the node about its workers: that one is stopped, or uses too much memory.
//
// It looks ten times a second while leased workers run something, less often while they do not, and never without a
// lease: an idle node sleeps. A worker that is stopped (by a signal or a debugger) is not dead: its tasks wait, `fray
// status` says so, and after two seconds the drivers that get its output are told once.
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
#include "node/workers/memory_guard.h"
#include "node/workers/worker_processes.h"

namespace fray::scheduler {
class LeaseTable;
}

namespace fray::node {

class WorkerWatch {
 public:
  // Writes a line about a worker to those who see the output of that worker.
  using Say = std::function<void(ProcessId worker, const std::string& line)>;

  // Called at each look with whether memory is scarce.
  using TellMemory = std::function<void(bool scarce)>;

  // `memory_threshold` as in os::MemoryRoom.
  WorkerWatch(event::Loop& loop, WorkerProcesses& processes, const scheduler::LeaseTable& table,
              const actor::ActorTable& actors, double memory_threshold, Say say, TellMemory tell_memory);
  ~WorkerWatch() { loop_.cancel(timer_); }
  WorkerWatch(const WorkerWatch&) = delete;
  WorkerWatch& operator=(const WorkerWatch&) = delete;

  // To be called after each round, in which leases may have begun or ended.
  void follow_leases();
  // Looks at all workers now.
  void look_for_stops();
  // Why a worker that has ended was killed for its memory; empty: it was not.
  std::string memory_verdict(ProcessId worker, bool expected, const wire::ExitFacts& facts) {
    return memory_.verdict(worker, expected, facts);
  }
  // When the worker was first seen stopped (CLOCK_MONOTONIC); 0: it is not stopped.
  std::uint64_t stopped_since_ns(ProcessId worker) const;

 private:
  struct Stop {
    std::uint64_t since_ns = 0;
    bool told = false;
  };

  void plan(std::chrono::milliseconds pause);
  void look();
  bool somebody_works() const;
  void tell_of_stops();

  event::Loop& loop_;
  WorkerProcesses& processes_;
  const scheduler::LeaseTable& table_;
  const Say say_;
  const TellMemory tell_memory_;
  MemoryGuard memory_;
  std::unordered_map<ProcessId, Stop> stops_;
  std::size_t leases_ = 0;  // in the last round
  std::chrono::milliseconds pause_{0};
  std::uint64_t stops_sought_ns_ = 0;
  event::TimerId timer_ = 0;
};

}  // namespace fray::node
