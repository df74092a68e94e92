#include "scheduler/key_keeper.h"

#include <algorithm>
#include <utility>

namespace fray::scheduler {

std::vector<WorkerKeyId> KeyKeeper::surplus(const std::vector<WorkerKeyId>& existing, const std::set<WorkerKeyId>& used,
                                            std::uint64_t now_ns) {
  std::map<WorkerKeyId, std::uint64_t> before = std::exchange(unused_since_, {});
  std::vector<std::pair<std::uint64_t, WorkerKeyId>> unused;  // the most recently used first
  for (WorkerKeyId key : existing) {
    if (used.contains(key)) continue;
    auto known = before.find(key);
    unused.emplace_back(known == before.end() ? now_ns : known->second, key);
  }
  std::sort(unused.rbegin(), unused.rend());
  std::vector<WorkerKeyId> let_go;
  for (const auto& [since, key] : unused) {
    if (unused_since_.size() >= kMostKept || now_ns - since >= kKeepNs) {
      let_go.push_back(key);
    } else {
      unused_since_[key] = since;
    }
  }
  return let_go;
}

std::uint64_t KeyKeeper::next_ns() const {
  std::uint64_t first = 0;
  for (const auto& [key, since] : unused_since_) {
    if (first == 0 || since + kKeepNs < first) first = since + kKeepNs;
  }
  return first;
}

}  // namespace fray::scheduler
