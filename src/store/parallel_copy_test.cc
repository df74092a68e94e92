#include "store/parallel_copy.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "os/memory/memory_file.h"
#include "store/mapping.h"
#include "store/work_share.h"

namespace fray::store {
namespace {

std::vector<std::byte> random_bytes(std::size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

struct ColdFile {
  explicit ColdFile(std::uint64_t bytes)
      : size(os::round_up_to_page(bytes)),
        file(os::memory_files().create(size).value()),
        mapping(os::memory_files().map(file.get(), size, os::Access::kReadWrite).value(), size,
                os::Access::kReadWrite) {}
  Destination destination() { return {mapping.writable_data(), size, true, file.get()}; }
  bool holds(std::span<const std::byte> bytes, std::uint64_t offset) const {
    return std::equal(bytes.begin(), bytes.end(), mapping.bytes().begin() + static_cast<long>(offset));
  }

  std::uint64_t size;
  os::Fd file;
  Mapping mapping;
};

class ParallelCopy : public testing::TestWithParam<ColdMethod> {};

TEST_P(ParallelCopy, ColdMemoryHoldsWhatWasCopied) {
  for (const std::size_t bytes : {1u, 4095u, 4096u, 70'001u, 1u << 20, (9u << 20) + 77u, 33u << 20}) {
    const auto source = random_bytes(bytes, 1);
    for (const std::uint64_t offset : {0ull, 1ull, 64ull, 4096ull, 5000ull}) {
      ColdFile cold(bytes + offset);
      const CopyPart part{source, offset};
      ASSERT_TRUE(copy_parts({&part, 1}, cold.destination(), 3, GetParam()).is_ok());
      ASSERT_TRUE(cold.holds(source, offset)) << bytes << " at " << offset;
    }
  }
}

TEST_P(ParallelCopy, ManyPartsKeepTheirPlaces) {
  std::mt19937 random(3);
  std::vector<std::vector<std::byte>> sources;
  std::vector<CopyPart> parts;
  std::uint64_t end = 0;
  for (unsigned i = 0; i < 300; ++i) {
    sources.push_back(random_bytes(random() % (i % 10 == 0 ? 400'000 : 3'000), i));
    end += random() % 9000;
    parts.push_back({sources.back(), end});
    end += sources.back().size();
  }
  std::shuffle(parts.begin(), parts.end(), random);
  ColdFile cold(end);
  ASSERT_TRUE(copy_parts(parts, cold.destination(), 2, GetParam()).is_ok());
  for (const auto& part : parts) ASSERT_TRUE(cold.holds(part.source, part.offset));
}

TEST_P(ParallelCopy, PagesThatExistAlreadyAreOverwritten) {
  constexpr std::size_t kBytes = 10u << 20;
  const auto source = random_bytes(kBytes, 5);
  ColdFile cold(kBytes);
  for (std::size_t offset = 0; offset < kBytes; offset += 3 * 4096) cold.mapping.writable_data()[offset] = std::byte{9};
  const CopyPart part{source, 0};
  ASSERT_TRUE(copy_parts({&part, 1}, cold.destination(), 2, GetParam()).is_ok());
  EXPECT_TRUE(cold.holds(source, 0));
}

TEST_P(ParallelCopy, ASealedFileIsFilledThroughItsMapping) {
  constexpr std::size_t kBytes = 10u << 20;
  const auto source = random_bytes(kBytes, 6);
  ColdFile cold(kBytes);
  ASSERT_TRUE(os::memory_files().seal(cold.file.get()).is_ok());
  Destination to = cold.destination();
  to.descriptor = -1;
  const CopyPart part{source, 0};
  ASSERT_TRUE(copy_parts({&part, 1}, to, 2, GetParam()).is_ok());
  EXPECT_TRUE(cold.holds(source, 0));
}

INSTANTIATE_TEST_SUITE_P(Methods, ParallelCopy,
                         testing::Values(ColdMethod::kAutomatic, ColdMethod::kUserfault,
                                         ColdMethod::kWriteAndPopulate));

TEST(ParallelCopyWarm, HoldsWhatWasCopied) {
  const auto source = random_bytes((17u << 20) + 3, 1);
  std::vector<std::byte> target(source.size() + 10);
  const CopyPart part{source, 7};
  ASSERT_TRUE(copy_parts({&part, 1}, {target.data(), target.size(), false, -1}, 2).is_ok());
  EXPECT_TRUE(std::equal(source.begin(), source.end(), target.begin() + 7));
}

TEST(ParallelCopyWarm, PartsThatDoNotFitAreRefusedBeforeAnythingIsWritten) {
  const std::vector<std::byte> source(100, std::byte{1});
  std::vector<std::byte> target(100);
  for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{101}, ~std::uint64_t{0}}) {
    const CopyPart parts[] = {{std::span(source).first(1), 0}, {source, offset}};
    EXPECT_EQ(copy_parts(parts, {target.data(), target.size(), false, -1}).code(), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(target, std::vector<std::byte>(100));
}

TEST(WorkShare, EveryPieceIsDoneOnce) {
  std::vector<std::atomic<int>> done(1000);
  ASSERT_TRUE(share_work(done.size(), 4, [&](std::size_t piece, unsigned) {
                ++done[piece];
                return Status::ok();
              }).is_ok());
  for (const auto& count : done) EXPECT_EQ(count, 1);
}

TEST(WorkShare, AnErrorStopsTheOthersAndIsReported) {
  std::atomic<int> done = 0;
  const Status status = share_work(1'000'000, 2, [&](std::size_t piece, unsigned) {
    ++done;
    return piece == 10 ? Status(StatusCode::kIoError, "piece 10") : Status::ok();
  });
  EXPECT_EQ(status.message(), "piece 10");
  EXPECT_LT(done, 1'000'000);
}

TEST(WorkShare, NothingToDoIsDone) {
  EXPECT_TRUE(share_work(0, 2, [](std::size_t, unsigned) { return Status(StatusCode::kInternal, "called"); }).is_ok());
}

}  // namespace
}  // namespace fray::store
