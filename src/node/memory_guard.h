// MemoryGuard: kills workers for their memory: one whose task uses more than it asked for, and, when the machine or its
// container runs short, the one that choose_victim() names.
//
// What counts is private memory of the worker and its children; objects in shared memory are the store's affair. A task
// that asked for `memory` may use that and what an interpreter with its libraries takes besides (kAllowance).
//
// Threading:  the node's loop.
// Ownership:  refers to processes and leases, which must outlive it.
// Failure:    memory that is taken faster than it is looked at is the kernel's to deny: it kills, and that is recognised.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "node/worker_processes.h"
#include "os/memory_gauge.h"
#include "wire/lease.h"

namespace fray::scheduler {
class LeaseTable;
}

namespace fray::node {

class MemoryGuard {
 public:
  static constexpr std::uint64_t kAllowance = 64ull << 20;

  MemoryGuard(WorkerProcesses& processes, const scheduler::LeaseTable& table);

  // Looks at those that run, now.
  void look();
  // Why a worker that has ended was killed for its memory; empty: it was not. Asked once for each.
  std::string verdict(ProcessId worker, bool expected, const wire::ExitFacts& facts);

 private:
  void enforce_requests();
  void relieve(const os::MemoryRoom& room);
  void kill(ProcessId worker, std::string why);

  WorkerProcesses& processes_;
  const scheduler::LeaseTable& table_;
  const os::MemoryGauge gauge_;
  std::uint64_t kernel_kills_;
  std::unordered_map<ProcessId, std::string> killed_;  // and not gone yet
};

}  // namespace fray::node
