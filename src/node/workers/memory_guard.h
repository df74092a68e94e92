// MemoryGuard: kills workers for their memory: one whose task uses more than it asked for, and, when the machine or its
// container runs short, the one that choose_victim() names.
//
// The private memory of the worker and its children counts; objects in shared memory are limited by the store. A task
// that asked for `memory` may use that, and kAllowance besides for the interpreter and its libraries.
//
// Threading:  the node's loop.
// Ownership:  refers to processes, leases and actors, which must outlive it.
// Failure:    a worker may take memory faster than the guard looks. The kernel then kills it, which is recognised as
//             such.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "node/workers/worker_processes.h"
#include "os/memory/memory_gauge.h"
#include "wire/lease.h"

namespace fray::actor {
class ActorTable;
}
namespace fray::scheduler {
class LeaseTable;
}

namespace fray::node {

class MemoryGuard {
 public:
  static constexpr std::uint64_t kAllowance = 64ull << 20;

  // `threshold` as in os::MemoryRoom.
  MemoryGuard(WorkerProcesses& processes, const scheduler::LeaseTable& table, const actor::ActorTable& actors,
              double threshold);

  // Looks at all workers now. Returns whether memory is scarce.
  bool look();
  // Why a worker that has ended was killed for its memory; empty: it was not. To be asked once for each such worker.
  std::string verdict(ProcessId worker, bool expected, const wire::ExitFacts& facts);

 private:
  void enforce_requests();
  void relieve(const os::MemoryRoom& room);
  void kill(ProcessId worker, std::string why);

  WorkerProcesses& processes_;
  const scheduler::LeaseTable& table_;
  const actor::ActorTable& actors_;
  const os::MemoryGauge gauge_;
  std::uint64_t kernel_kills_;
  std::unordered_map<ProcessId, std::string> killed_;  // workers that have not ended yet, with the reason
};

}  // namespace fray::node
