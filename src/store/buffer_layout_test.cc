#include "store/buffer_layout.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace fray::store {
namespace {

std::vector<std::byte> written(const std::string& pickle, const std::vector<std::string>& buffers) {
  std::vector<std::uint64_t> sizes;
  for (const auto& buffer : buffers) sizes.push_back(buffer.size());
  const BufferPlan plan = BufferPlan::measure(pickle.size(), sizes).value();
  std::vector<std::byte> block(plan.total_bytes());
  plan.write_header(block);
  std::memcpy(block.data() + plan.pickle_offset(), pickle.data(), pickle.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].empty()) continue;
    std::memcpy(block.data() + plan.buffer_offset(i), buffers[i].data(), buffers[i].size());
  }
  return block;
}

std::string text(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

TEST(BufferLayout, ParsesWhatWasWritten) {
  const std::vector<std::string> buffers = {std::string(100, 'a'), "", std::string(64, 'b'), "c"};
  const auto block = written("the pickle", buffers);
  const BufferLayout layout = BufferLayout::parse(block).value();
  EXPECT_EQ(text(layout.pickle), "the pickle");
  ASSERT_EQ(layout.buffers.size(), buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) EXPECT_EQ(text(layout.buffers[i]), buffers[i]);
}

TEST(BufferLayout, BuffersAreAlignedWithinTheBlock) {
  const BufferPlan plan = BufferPlan::measure(7, std::vector<std::uint64_t>{1, 63, 64, 65, 1000}).value();
  for (std::size_t i = 0; i < plan.buffer_count(); ++i) EXPECT_EQ(plan.buffer_offset(i) % kBufferAlignment, 0u);
  EXPECT_EQ(plan.total_bytes(), plan.buffer_offset(4) + 1000);
}

TEST(BufferLayout, WithoutBuffersIsHeaderAndPickle) {
  const auto block = written("p", {});
  EXPECT_EQ(block.size(), 17u);
  EXPECT_TRUE(BufferLayout::parse(block).value().buffers.empty());
}

TEST(BufferLayout, EveryTruncationIsRefused) {
  const auto block = written("the pickle", {std::string(100, 'a'), std::string(3, 'b')});
  for (std::size_t size = 0; size < block.size(); ++size) {
    EXPECT_EQ(BufferLayout::parse(std::span(block).first(size)).status().code(), StatusCode::kCorruption) << size;
  }
}

TEST(BufferLayout, EveryChangedHeaderBitIsRefusedOrStaysWithinTheBlock) {
  const auto good = written("the pickle", {std::string(100, 'a'), std::string(3, 'b')});
  for (std::size_t bit = 0; bit < 8 * 32; ++bit) {
    auto block = good;
    block[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
    const auto layout = BufferLayout::parse(block);
    if (!layout.is_ok()) continue;
    for (const auto& buffer : layout.value().buffers) {
      EXPECT_TRUE(buffer.empty() ||
                  (buffer.data() >= block.data() && buffer.data() + buffer.size() <= block.data() + block.size()));
    }
  }
}

TEST(BufferLayout, SizesThatOverflowAreRefused) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  EXPECT_FALSE(BufferPlan::measure(kHuge, {}).is_ok());
  EXPECT_FALSE(BufferPlan::measure(0, std::vector<std::uint64_t>{kHuge - 40}).is_ok());
  EXPECT_FALSE(BufferPlan::measure(0, std::vector<std::uint64_t>{kHuge / 2, kHuge / 2, 100}).is_ok());
  EXPECT_FALSE(BufferPlan::measure(0, std::vector<std::uint64_t>(kMaxBuffers + 1)).is_ok());

  auto block = written("p", {"x"});
  std::memcpy(block.data() + 16, &kHuge, sizeof(kHuge));
  EXPECT_FALSE(BufferLayout::parse(block).is_ok());
}

TEST(BufferLayout, RandomBytesBehindAGoodMagicNumberNeverLeaveTheBlock) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> block(random() % 200);
    for (auto& byte : block) byte = static_cast<std::byte>(random() % 4);
    if (block.size() >= 4) std::memcpy(block.data(), &kBufferLayoutMagic, 4);
    const auto layout = BufferLayout::parse(block);
    if (!layout.is_ok()) continue;
    EXPECT_LE(layout.value().pickle.data() + layout.value().pickle.size(), block.data() + block.size());
  }
}

}  // namespace
}  // namespace fray::store
