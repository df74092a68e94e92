#include "node/workers/memory_victim.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace fray::node {

namespace {

constexpr std::uint64_t kWorthIt = 64ull << 20;  // about what an interpreter with some libraries uses

constexpr std::uint64_t kNextToNothing = 16;  // this part of what the largest one uses

// Workers of the greatest kind are killed first.
auto kind(const MemoryUse& worker) {
  return std::tuple(worker.is_idle, worker.used_bytes > worker.asked_bytes, worker.comes_back);
}

bool is_worth_it(const MemoryUse& worker, std::uint64_t largest) {
  return worker.used_bytes >= kWorthIt && (worker.is_idle || worker.used_bytes >= largest / kNextToNothing);
}

std::uint64_t mean_use(std::span<const MemoryUse> workers) {
  std::uint64_t all = 0;
  for (const MemoryUse& worker : workers) all += worker.used_bytes;
  return all / workers.size();
}

}  // namespace

std::optional<MemoryUse> choose_victim(std::span<const MemoryUse> workers) {
  std::uint64_t largest = 0;
  for (const MemoryUse& worker : workers) largest = std::max(largest, worker.used_bytes);
  std::vector<MemoryUse> alike;  // those of the greatest kind
  for (const MemoryUse& worker : workers) {
    if (!is_worth_it(worker, largest)) continue;
    if (!alike.empty() && kind(worker) > kind(alike.front())) alike.clear();
    if (alike.empty() || kind(worker) == kind(alike.front())) alike.push_back(worker);
  }
  if (alike.empty()) return std::nullopt;
  if (alike.front().is_idle) return *std::ranges::max_element(alike, {}, &MemoryUse::used_bytes);
  std::erase_if(alike, [mean = mean_use(alike)](const MemoryUse& worker) { return worker.used_bytes < mean; });
  return *std::ranges::max_element(alike, {}, &MemoryUse::started_ns);
}

}  // namespace fray::node
