#include "node/workers/memory_guard.h"

#include <csignal>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "actor/actor_table.h"
#include "base/amount_text.h"
#include "node/workers/memory_victim.h"
#include "os/process/process_facts.h"
#include "scheduler/lease_table.h"

namespace fray::node {

namespace {

std::uint64_t asked_bytes(const scheduler::HeldLease& lease) {
  return static_cast<std::uint64_t>(lease.shape.resources.amount("memory"));
}

}  // namespace

MemoryGuard::MemoryGuard(WorkerProcesses& processes, const scheduler::LeaseTable& table,
                         const actor::ActorTable& actors, double threshold)
    : processes_(processes),
      table_(table),
      actors_(actors),
      gauge_(os::MemoryGauge::of_this_process(threshold)),
      kernel_kills_(gauge_.kernel_kills()) {}

bool MemoryGuard::look() {
  enforce_requests();
  const os::MemoryRoom room = gauge_.room();
  // Kill one worker at a time: whether that was enough shows only when its memory has been freed.
  if (killed_.empty() && room.is_short()) relieve(room);
  return room.is_scarce();
}

void MemoryGuard::enforce_requests() {
  for (const auto& [id, lease] : table_.ledger().leases()) {
    std::uint64_t asked = asked_bytes(lease);
    auto worker = processes_.workers().find(lease.worker);
    if (asked == 0 || worker == processes_.workers().end() || !worker->second.view()->runs_a_task()) continue;
    if (os::private_memory_bytes(worker->second.pid) <= asked + kAllowance) continue;
    std::uint64_t used = os::proportional_memory_bytes(worker->second.pid);
    if (used <= asked + kAllowance) continue;
    kill(lease.worker, fmt::format("out of memory, used {} of {} asked", bytes_text(used), bytes_text(asked)));
  }
}

void MemoryGuard::relieve(const os::MemoryRoom& room) {
  std::vector<MemoryUse> uses;
  for (const auto& [process, worker] : processes_.workers()) {
    if (worker.pid == 0) continue;
    MemoryUse use;
    use.worker = process;
    use.used_bytes = os::private_memory_bytes(worker.pid);
    const auto actor = actors_.actor_of_worker(process);
    const ActorSpec* spec = actor ? actors_.spec(*actor) : nullptr;
    use.is_idle = spec == nullptr && !worker.view()->runs_a_task();
    use.comes_back = spec == nullptr || spec->max_restarts != 0;
    use.started_ns = worker.view()->started_ns.load(std::memory_order_relaxed);
    const scheduler::Worker* entry = table_.workers().find(process);
    const scheduler::HeldLease* lease = entry == nullptr ? nullptr : table_.ledger().find(entry->lease);
    if (lease != nullptr) use.asked_bytes = asked_bytes(*lease);
    uses.push_back(use);
  }
  auto victim = choose_victim(uses);
  if (!victim) return;
  std::string asked =
      victim->asked_bytes == 0 ? "and asked for none" : "of " + bytes_text(victim->asked_bytes) + " asked";
  kill(victim->worker, fmt::format("out of memory, {} of {} were left on this machine or in its container, and this "
                                   "worker used {} {}",
                                   bytes_text(room.available_bytes), bytes_text(room.limit_bytes),
                                   bytes_text(victim->used_bytes), asked));
}

void MemoryGuard::kill(ProcessId worker, std::string why) {
  if (killed_.emplace(worker, std::move(why)).second) processes_.kill(worker, false);
}

std::string MemoryGuard::verdict(ProcessId worker, bool expected, const wire::ExitFacts& facts) {
  auto killed = killed_.extract(worker);
  if (facts.signal != SIGKILL) return {};
  const std::uint64_t before = std::exchange(kernel_kills_, gauge_.kernel_kills());
  if (expected) return {};
  if (!killed.empty()) return "by the node: " + killed.mapped();
  return kernel_kills_ > before ? "by the kernel: out of memory" : "";
}

}  // namespace fray::node
