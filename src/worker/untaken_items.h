// UntakenItems: the items of a generator that its caller has not taken, and whether a further one may be produced.
//
// Threading:  guarded by its owner's mutex.
// Ownership:  none.
// Failure:    none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/direct.h"

namespace fray::worker {

struct UntakenItems {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  bool unlimited = false;  // the caller takes all items

  void sent(std::uint64_t item_bytes) {
    bytes += item_bytes;
    ++count;
  }
  // kTaken has arrived: an item of that size was taken, or there is no limit from now on.
  void taken(std::uint64_t item_bytes) {
    if (item_bytes == ~std::uint64_t{0}) {
      unlimited = true;
      return;
    }
    bytes -= std::min(bytes, item_bytes);
    count -= std::min<std::uint64_t>(count, 1);
  }
  bool leaves_room(const wire::TaskHead& head) const {
    return unlimited || ((head.item_budget_bytes == 0 || bytes < head.item_budget_bytes) &&
                         (head.most_items == 0 || count < head.most_items));
  }
};

}  // namespace fray::worker
