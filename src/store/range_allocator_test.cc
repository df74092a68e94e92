#include "store/range_allocator.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace fray::store {
namespace {

TEST(RangeAllocator, FillsCompletelyAndRefusesMore) {
  RangeAllocator ranges(1024, 64);
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(ranges.allocate(64));
  EXPECT_FALSE(ranges.allocate(1));
  EXPECT_EQ(ranges.largest_hole(), 0u);
}

TEST(RangeAllocator, NeighboursJoinWhateverTheOrder) {
  std::vector<std::uint64_t> order = {0, 64, 128};
  do {
    RangeAllocator ranges(192, 64);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(ranges.allocate(64));
    for (const auto offset : order) EXPECT_TRUE(ranges.free(offset));
    EXPECT_EQ(ranges.holes(), 1u);
    EXPECT_EQ(ranges.largest_hole(), 192u);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(RangeAllocator, NothingIsATinyRange) {
  RangeAllocator ranges(128, 64);
  EXPECT_EQ(ranges.allocate(0), 0u);
  EXPECT_EQ(ranges.size_at(0), 0u);
  EXPECT_EQ(ranges.allocate(1), 64u);
}

TEST(RangeAllocator, RefusesWhatItDidNotHandOut) {
  RangeAllocator ranges(1024, 64);
  ASSERT_EQ(ranges.allocate(200), 0u);
  EXPECT_FALSE(ranges.free(64));
  EXPECT_FALSE(ranges.free(~std::uint64_t{0}));
  EXPECT_TRUE(ranges.free(0));
  EXPECT_FALSE(ranges.free(0));
  EXPECT_FALSE(ranges.allocate(~std::uint64_t{0}));
  EXPECT_FALSE(ranges.allocate(1025));
}

TEST(RangeAllocator, RetiredRangesAreNeverHandedOutAgain) {
  RangeAllocator ranges(256, 64);
  ASSERT_EQ(ranges.allocate(64), 0u);
  EXPECT_TRUE(ranges.retire(0));
  EXPECT_TRUE(ranges.empty());
  EXPECT_EQ(ranges.retired_bytes(), 64u);
  EXPECT_FALSE(ranges.allocate(256));
  EXPECT_EQ(ranges.allocate(192), 64u);
}

// Against a plain map of what is handed out.
TEST(RangeAllocator, RandomUseNeverOverlapsAndJoinsAllAtTheEnd) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    constexpr std::uint64_t kTotal = 1u << 16;
    RangeAllocator ranges(kTotal, 64);
    std::map<std::uint64_t, std::uint64_t> model;  // offset -> size
    std::uint64_t model_bytes = 0;
    for (int step = 0; step < 5'000; ++step) {
      if (random() % 2 == 0 || model.empty()) {
        const std::uint64_t size = random() % (random() % 8 == 0 ? 8192 : 512);
        const auto offset = ranges.allocate(size);
        const std::uint64_t taken = (std::max<std::uint64_t>(size, 1) + 63) / 64 * 64;
        if (!offset) {
          ASSERT_LT(ranges.largest_hole(), taken);
          continue;
        }
        ASSERT_EQ(*offset % 64, 0u);
        ASSERT_LE(*offset + taken, kTotal);
        const auto after = model.lower_bound(*offset);
        if (after != model.end()) {
          ASSERT_LE(*offset + taken, after->first);
        }
        if (after != model.begin()) {
          ASSERT_LE(std::prev(after)->first + std::prev(after)->second, *offset);
        }
        model[*offset] = taken;
        model_bytes += taken;
      } else {
        const auto chosen = std::next(model.begin(), static_cast<long>(random() % model.size()));
        ASSERT_TRUE(ranges.free(chosen->first));
        model_bytes -= chosen->second;
        model.erase(chosen);
      }
      ASSERT_EQ(ranges.ranges(), model.size());
      ASSERT_LE(ranges.largest_hole(), kTotal - model_bytes);
    }
    for (const auto& [offset, size] : model) ASSERT_TRUE(ranges.free(offset));
    EXPECT_EQ(ranges.holes(), 1u);
    EXPECT_EQ(ranges.largest_hole(), kTotal);
  }
}

}  // namespace
}  // namespace fray::store
