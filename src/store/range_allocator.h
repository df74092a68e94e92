// RangeAllocator: hands out ranges of one slab and joins them again when they come back.
//
// Best fit: the smallest hole that is large enough, the lowest of equals; so the untouched end of a slab is used last.
//
// Threading:  one thread at a time.
// Ownership:  numbers only; knows nothing of the memory behind them.
// Failure:    allocate() gives nothing when no hole is large enough; free() refuses what was not handed out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace fray::store {

class RangeAllocator {
 public:
  // Ranges lie in [0, total_bytes) at multiples of `alignment`; total_bytes is one, too.
  RangeAllocator(std::uint64_t total_bytes, std::uint64_t alignment);

  // `size` is rounded up to the alignment; 0 takes one unit.
  std::optional<std::uint64_t> allocate(std::uint64_t size);
  // The size that was asked for at `offset`; nothing if no range begins there.
  std::optional<std::uint64_t> size_at(std::uint64_t offset) const;
  bool free(std::uint64_t offset);
  // Like free(), but the range is never handed out again.
  bool retire(std::uint64_t offset);

  bool empty() const { return used_.empty(); }
  std::size_t ranges() const { return used_.size(); }
  std::size_t holes() const { return holes_.size(); }
  std::uint64_t retired_bytes() const { return retired_bytes_; }
  std::uint64_t largest_hole() const { return holes_by_size_.empty() ? 0 : holes_by_size_.rbegin()->first; }

 private:
  std::uint64_t rounded(std::uint64_t size) const;
  void add_hole(std::uint64_t offset, std::uint64_t size);
  void remove_hole(std::map<std::uint64_t, std::uint64_t>::iterator hole);

  std::uint64_t total_bytes_;
  std::uint64_t alignment_;
  std::uint64_t retired_bytes_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> used_;            // offset -> size asked for
  std::map<std::uint64_t, std::uint64_t> holes_;                     // offset -> size; never adjacent
  std::set<std::pair<std::uint64_t, std::uint64_t>> holes_by_size_;  // (size, offset), the same holes
};

}  // namespace fray::store
