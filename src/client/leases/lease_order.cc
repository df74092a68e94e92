#include "client/leases/lease_order.h"

#include <algorithm>

namespace fray::client {

void LeaseOrder::place(Lease* lease) {
  leave(lease);
  if (lease->usable()) enter(lease, lease->sent.size());
  note_returnable(lease, lease->may_return());
}

void LeaseOrder::remove(Lease* lease) {
  leave(lease);
  note_returnable(lease, false);
}

void LeaseOrder::enter(Lease* lease, std::size_t sent) {
  if (by_sent_.size() <= sent) by_sent_.resize(sent + 1);
  List& list = by_sent_[sent];
  LeasePlace& place = lease->place;
  place.sent = static_cast<std::int32_t>(sent);
  place.previous = nullptr;
  place.next = list.first;
  (list.first != nullptr ? list.first->place.previous : list.last) = lease;
  list.first = lease;
  lowest_ = std::min(lowest_, sent);
  ++usable_;
  if (sent > 0) behind_ += sent - 1;
}

void LeaseOrder::leave(Lease* lease) {
  LeasePlace& place = lease->place;
  if (place.sent < 0) return;
  const auto sent = static_cast<std::size_t>(place.sent);
  List& list = by_sent_[sent];
  (place.previous != nullptr ? place.previous->place.next : list.first) = place.next;
  (place.next != nullptr ? place.next->place.previous : list.last) = place.previous;
  place.sent = LeasePlace::kNone;
  --usable_;
  if (sent > 0) behind_ -= sent - 1;
  while (lowest_ + 1 < by_sent_.size() && by_sent_[lowest_].first == nullptr) ++lowest_;
}

void LeaseOrder::note_returnable(Lease* lease, bool returnable) {
  LeasePlace& place = lease->place;
  const bool many = returnable && lease->sent.size() >= kWorthSharing;
  if (many != place.worth_sharing) many ? ++worth_sharing_ : --worth_sharing_;
  place.worth_sharing = many;
  if (place.returnable == returnable && (!returnable || place.silent_since == lease->last_answer)) return;
  if (place.returnable) returnable_.erase({place.silent_since, lease});
  place.returnable = returnable;
  place.silent_since = lease->last_answer;
  if (returnable) returnable_.emplace(place.silent_since, lease);
}

std::vector<Lease*> LeaseOrder::returnable() const {
  std::vector<Lease*> leases;
  for (const auto& [since, lease] : returnable_) leases.push_back(lease);
  return leases;
}

}  // namespace fray::client
