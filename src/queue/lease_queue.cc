#include "queue/lease_queue.h"

namespace fray::queue {

void LeaseQueue::add(Number item, std::uint64_t size) {
  waiting_.emplace(item, size);
  bytes_ += size;
}

void LeaseQueue::restore_lease(Number item, Number lease, Moment ends, std::int64_t begun_unix_ns) {
  auto found = waiting_.find(item);
  if (found == waiting_.end()) return;
  leases_[lease] = {item, ends, begun_unix_ns, found->second};
  ends_.emplace(ends, lease);
  waiting_.erase(found);
}

std::optional<Number> LeaseQueue::first() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->first;
}

Number LeaseQueue::lease(Number lease, Now now, Moment length) {
  const auto taken = waiting_.find(*first());
  const Number item = taken->first;
  leases_[lease] = {item, now.steady + length, now.unix_ns, taken->second};
  ends_.emplace(now.steady + length, lease);
  waiting_.erase(taken);
  return item;
}

std::map<Number, LeaseQueue::Held>::iterator LeaseQueue::find(Number item, Number lease) {
  auto found = leases_.find(lease);
  return found == leases_.end() || found->second.item != item ? leases_.end() : found;
}

void LeaseQueue::forget(std::map<Number, Held>::iterator lease) {
  ends_.erase({lease->second.ends, lease->first});
  leases_.erase(lease);
}

bool LeaseQueue::end(Number item, Number lease) {
  auto found = find(item, lease);
  if (found == leases_.end()) return false;
  bytes_ -= found->second.size;
  forget(found);
  return true;
}

bool LeaseQueue::put_back(Number item, Number lease) {
  auto found = find(item, lease);
  if (found == leases_.end()) return false;
  waiting_.emplace(item, found->second.size);
  forget(found);
  return true;
}

std::vector<Number> LeaseQueue::take_back(Moment now) {
  std::vector<Number> items;
  while (!ends_.empty() && ends_.begin()->first <= now) {
    auto found = leases_.find(ends_.begin()->second);
    items.push_back(found->second.item);
    waiting_.emplace(found->second.item, found->second.size);
    forget(found);
  }
  return items;
}

void LeaseQueue::drop(bool leased_too) {
  for (const auto& [item, size] : waiting_) bytes_ -= size;
  waiting_.clear();
  if (!leased_too) return;
  leases_.clear();
  ends_.clear();
  bytes_ = 0;
}

const LeaseQueue::Held* LeaseQueue::held(Number lease) const {
  auto found = leases_.find(lease);
  return found == leases_.end() ? nullptr : &found->second;
}

std::optional<Moment> LeaseQueue::next_end() const {
  if (ends_.empty()) return std::nullopt;
  return ends_.begin()->first;
}

}  // namespace fray::queue
