#include "store/range_allocator.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace fray::store {

RangeAllocator::RangeAllocator(std::uint64_t total_bytes, std::uint64_t alignment)
    : total_bytes_(total_bytes), alignment_(alignment) {
  FRAY_CHECK(alignment > 0 && total_bytes % alignment == 0, "a slab is a whole number of units");
  if (total_bytes_ > 0) add_hole(0, total_bytes_);
}

std::uint64_t RangeAllocator::rounded(std::uint64_t size) const {
  return (std::max<std::uint64_t>(size, 1) + alignment_ - 1) / alignment_ * alignment_;
}

void RangeAllocator::add_hole(std::uint64_t offset, std::uint64_t size) {
  holes_.emplace(offset, size);
  holes_by_size_.emplace(size, offset);
}

void RangeAllocator::remove_hole(std::map<std::uint64_t, std::uint64_t>::iterator hole) {
  holes_by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

std::optional<std::uint64_t> RangeAllocator::allocate(std::uint64_t size) {
  if (size > total_bytes_) return std::nullopt;  // before rounding, which could overflow
  const std::uint64_t needed = rounded(size);
  const auto best = holes_by_size_.lower_bound({needed, 0});
  if (best == holes_by_size_.end()) return std::nullopt;
  const auto [hole_size, offset] = *best;
  remove_hole(holes_.find(offset));
  if (hole_size > needed) add_hole(offset + needed, hole_size - needed);
  used_.emplace(offset, size);
  return offset;
}

std::optional<std::uint64_t> RangeAllocator::size_at(std::uint64_t offset) const {
  const auto found = used_.find(offset);
  if (found == used_.end()) return std::nullopt;
  return found->second;
}

bool RangeAllocator::free(std::uint64_t offset) {
  const auto found = used_.find(offset);
  if (found == used_.end()) return false;
  std::uint64_t size = rounded(found->second);
  used_.erase(found);

  const auto after = holes_.lower_bound(offset);
  if (after != holes_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      remove_hole(before);
    }
  }
  if (after != holes_.end() && offset + size == after->first) {
    size += after->second;
    remove_hole(after);
  }
  add_hole(offset, size);
  return true;
}

bool RangeAllocator::retire(std::uint64_t offset) {
  const auto found = used_.find(offset);
  if (found == used_.end()) return false;
  retired_bytes_ += rounded(found->second);
  used_.erase(found);
  return true;
}

}  // namespace fray::store
