// DemandWindow: decides which demands the node is told of, among those that differ only in their worker key. The other
// demands wait in line.
//
//   if (!window.admit(demand)) return;             // it stands in line now, and a later next() returns it
//   ...
//   window.leave(demand);                          // it asks for nothing more, or lets others go first
//   while (auto next = window.next()) ...          // the node is to be told of it, if it still asks for anything
//
// The node looks at every demand in each of its decisions, and a program may have a runtime env of its own for each of
// ten thousand tasks. Demands beyond what all workers together could serve would only cost the node time.
//
// Threading:  guarded by the client's mutex.
// Ownership:  numbers only. A demand may ask for nothing any more, or be gone, when its turn comes.
// Failure:    none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>

namespace fray::client {

class DemandWindow {
 public:
  static constexpr std::size_t kMostTold = 64;

  // Whether the node may be told of the demand now; else the demand waits in line.
  bool admit(std::uint32_t demand) {
    if (told_.contains(demand)) return true;
    if (told_.size() < kMostTold && line_.empty()) return told_.insert(demand).second;
    if (waiting_.insert(demand).second) line_.push_back(demand);
    return false;
  }
  void leave(std::uint32_t demand) { told_.erase(demand); }
  // The first demand in line, when there is room; the node counts as told of it until it leaves.
  std::optional<std::uint32_t> next() {
    if (line_.empty() || told_.size() >= kMostTold) return std::nullopt;
    const std::uint32_t demand = line_.front();
    line_.pop_front();
    waiting_.erase(demand);
    told_.insert(demand);
    return demand;
  }
  bool others_wait() const { return !line_.empty(); }

 private:
  std::unordered_set<std::uint32_t> told_;
  std::deque<std::uint32_t> line_;
  std::unordered_set<std::uint32_t> waiting_;  // those in line
};

}  // namespace fray::client
