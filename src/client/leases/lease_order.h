// LeaseOrder: the leases of one queue, so arranged that no question about them looks at all of them: who was sent the
// fewest tasks, who has been idle for longest, and which worker has kept others waiting for longest.
//
//   order.place(lease);                                      // when it was granted, and whenever it has changed
//   Lease* next = order.first([](const Lease& lease) { return has_room(lease); });
//   order.remove(lease);
//
// Usable leases are in a list for each number of tasks sent; the lease that changed last is first. Leases that could
// return tasks, because some wait behind a running one, are in the order of their last answers, whether usable or not.
//
// Threading:  guarded by the client's mutex.
// Ownership:  none; a lease is removed before it ends.
// Failure:    none. place() reads the state of the lease; a change of that state is not seen before the next place().
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "client/leases/lease.h"

namespace fray::client {

inline constexpr std::size_t kWorthSharing = 8;  // fewer short tasks would have ended before another worker gets them

class LeaseOrder {
 public:
  void place(Lease* lease);
  void remove(Lease* lease);

  std::uint32_t usable() const { return usable_; }
  std::size_t behind() const { return behind_; }  // tasks that wait behind the running ones of usable leases
  bool has_idle() const { return !by_sent_.empty() && by_sent_.front().first != nullptr; }
  Lease* longest_idle() const { return by_sent_.empty() ? nullptr : by_sent_.front().last; }
  // Of the leases that could return tasks: the one that has not answered for longest, and whether one has many tasks.
  Lease* longest_silent() const { return returnable_.empty() ? nullptr : returnable_.begin()->second; }
  bool has_worth_sharing() const { return worth_sharing_ > 0; }
  std::vector<Lease*> returnable() const;

  // The lease with the fewest tasks of those that fit; null when the first kMostLooks leases do not fit. A lease that was
  // not looked at comes to the front when its worker answers.
  template <typename Fits>
  Lease* first(Fits&& fits) const;

 private:
  static constexpr int kMostLooks = 16;
  struct List {
    Lease* first = nullptr;
    Lease* last = nullptr;
  };

  void leave(Lease* lease);
  void enter(Lease* lease, std::size_t sent);
  void note_returnable(Lease* lease, bool returnable);

  std::vector<List> by_sent_;
  std::size_t lowest_ = 0;  // no lease was sent fewer
  std::uint32_t usable_ = 0;
  std::size_t behind_ = 0;
  std::size_t worth_sharing_ = 0;
  std::set<std::pair<Clock::time_point, Lease*>> returnable_;
};

template <typename Fits>
Lease* LeaseOrder::first(Fits&& fits) const {
  int looks = 0;
  for (std::size_t sent = lowest_; sent < by_sent_.size(); ++sent) {
    for (Lease* lease = by_sent_[sent].first; lease != nullptr; lease = lease->place.next) {
      if (fits(*lease)) return lease;
      if (++looks == kMostLooks) return nullptr;
    }
  }
  return nullptr;
}

}  // namespace fray::client
