#include "node/workers/memory_victim.h"

#include <tuple>

namespace fray::node {

namespace {

constexpr std::uint64_t kWorthIt = 64ull << 20;  // about what an interpreter with some libraries uses

auto rank(const MemoryUse& worker) {
  bool keeps_to_it = worker.used_bytes <= worker.asked_bytes;
  // Among idle workers the largest is ended, among others the newest.
  return std::tuple(!worker.runs_a_task, !keeps_to_it, worker.runs_a_task ? worker.started_ns : worker.used_bytes);
}

}  // namespace

std::optional<MemoryUse> choose_victim(std::span<const MemoryUse> workers) {
  std::uint64_t all = 0;
  std::uint64_t running = 0;
  for (const MemoryUse& worker : workers) {
    if (!worker.runs_a_task) continue;
    all += worker.used_bytes;
    ++running;
  }
  std::optional<MemoryUse> victim;
  for (const MemoryUse& worker : workers) {
    if (worker.used_bytes < kWorthIt) continue;
    if (worker.runs_a_task && worker.used_bytes < all / running) continue;
    if (!victim || rank(worker) > rank(*victim)) victim = worker;
  }
  return victim;
}

}  // namespace fray::node
