#include "object/removal_queue.h"

#include <utility>

namespace fray::object {

void RemovalQueue::release(const Hold& hold) {
  // Only the newest release of a hold counts: this number makes older ones in the queue void.
  waiting_[hold] = ++order_;
  fresh_.releases.push_back(hold);
  fresh_orders_.push_back(order_);
}

void RemovalQueue::cancel(const Hold& hold) { waiting_.erase(hold); }

bool RemovalQueue::empty() const {
  const auto none = [](const Removals& removals) {
    return removals.releases.empty() && removals.departures.empty() && removals.suspects.empty();
  };
  return none(fresh_) && none(aged_);
}

Removals RemovalQueue::next_round() {
  Removals due = std::exchange(aged_, std::exchange(fresh_, {}));
  const std::vector<std::uint64_t> orders = std::exchange(aged_orders_, std::exchange(fresh_orders_, {}));
  std::vector<Hold> valid;
  valid.reserve(due.releases.size());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    auto found = waiting_.find(due.releases[i]);
    if (found == waiting_.end() || found->second != orders[i]) continue;
    waiting_.erase(found);
    valid.push_back(due.releases[i]);
  }
  due.releases = std::move(valid);
  return due;
}

}  // namespace fray::object
