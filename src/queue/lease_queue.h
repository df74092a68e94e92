// LeaseQueue: the items of one queue: which wait, which are leased, and until when.
//
//   queue.add(1, size);
//   queue.lease(7, now, 60s);          // item 1, as it is the oldest that waits, on lease 7
//   queue.end(1, 7);                   // it is gone
//
//           add           lease            end
//   (none) ─────▶ waiting ─────▶ leased ─────────▶ gone
//                    ▲               │
//                    └── put_back, take_back
//
// Items wait in the order of their numbers, however often they were leased. A lease whose time is over stays valid
// until it is taken back.
//
// Threading:  confined to its owner.
// Ownership:  numbers and sizes; the bytes of items are elsewhere.
// Failure:    a call that does not fit the state returns nothing or false, and changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "queue/queue_values.h"

namespace fray::queue {

class LeaseQueue {
 public:
  struct Held {
    Number item = 0;
    Moment ends{0};
    std::int64_t begun_unix_ns = 0;
    std::uint64_t size = 0;
  };

  void add(Number item, std::uint64_t size);
  // Restores a lease that an earlier node has made.
  void restore_lease(Number item, Number lease, Moment ends, std::int64_t begun_unix_ns);

  // The item that lease() would take.
  std::optional<Number> first() const;
  std::uint64_t first_size() const { return waiting_.begin()->second; }
  Number lease(Number lease, Now now, Moment length);
  // Removes an item that is done.
  bool end(Number item, Number lease);
  bool put_back(Number item, Number lease);
  // Items whose leases are over wait again; returns them.
  std::vector<Number> take_back(Moment now);
  void drop(bool leased_too);

  const Held* held(Number lease) const;
  std::optional<Moment> next_end() const;  // of a lease
  std::uint64_t waiting() const { return waiting_.size(); }
  std::uint64_t leased() const { return leases_.size(); }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t dropped(bool leased_too) const { return waiting() + (leased_too ? leased() : 0); }

 private:
  std::map<Number, Held>::iterator find(Number item, Number lease);
  void forget(std::map<Number, Held>::iterator lease);

  std::map<Number, std::uint64_t> waiting_;  // size by item
  std::map<Number, Held> leases_;            // by lease
  std::set<std::pair<Moment, Number>> ends_;
  std::uint64_t bytes_ = 0;
};

}  // namespace fray::queue
