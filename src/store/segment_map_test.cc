#include "store/segment_map.h"

#include <cstring>
#include <optional>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "store/spill_file.h"
#include "store/store_fakes.h"

namespace fray::store {
namespace {

struct Published {
  Location location;
  os::Fd descriptor;
  std::uint64_t size = 0;
};

class SegmentMapTest : public testing::Test {
 protected:
  Published publish(std::uint64_t size, unsigned char value) {
    const Block block = pool_->allocate(size).value();
    std::memset(block.data, value, size);
    Publication news = pool_->publish(block.location.segment).value();
    return {block.location, std::move(news.descriptor), news.size};
  }
  Status adopt(SegmentMap& map, Published& published) {
    return map.adopt(published.location.segment, std::move(published.descriptor), published.size).status();
  }

  FakeBudget budget_;
  std::optional<SegmentPool> pool_{std::in_place, PoolOptions{5}, budget_};
};

TEST_F(SegmentMapTest, ViewsWhatTheWriterWrote) {
  SegmentMap map;
  Published object = publish(2 * kMiB, 9);
  EXPECT_EQ(map.view(object.location).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(adopt(map, object).is_ok());
  const View view = map.view(object.location).value();
  EXPECT_EQ(view.bytes.size(), 2 * kMiB);
  EXPECT_EQ(view.bytes[2 * kMiB - 1], std::byte{9});
}

TEST_F(SegmentMapTest, ViewOutlivesWriterMapAndDescriptor) {
  View view;
  {
    SegmentMap map;
    Published object = publish(3 * kMiB, 4);
    ASSERT_TRUE(adopt(map, object).is_ok());
    view = map.view(object.location).value();
  }
  pool_.reset();
  EXPECT_EQ(view.bytes.front(), std::byte{4});
  EXPECT_EQ(view.bytes.back(), std::byte{4});
}

TEST_F(SegmentMapTest, LocationsOutsideTheSegmentAreRefused) {
  SegmentMap map;
  Published object = publish(kMiB, 1);
  ASSERT_TRUE(adopt(map, object).is_ok());
  const std::uint64_t huge = ~std::uint64_t{0};
  for (const auto& [offset, size] : {std::pair{kMiB, std::uint64_t{1}}, {0ul, kMiB + 1}, {huge, 2ul}, {1ul, huge}}) {
    EXPECT_EQ(map.view({object.location.segment, offset, size}).status().code(), StatusCode::kCorruption);
  }
  EXPECT_TRUE(map.view({object.location.segment, kMiB, 0}).is_ok());
}

TEST_F(SegmentMapTest, WrongSizesAreRefused) {
  SegmentMap map;
  for (const std::uint64_t size : {std::uint64_t{0}, kMiB - 1, kMiB + 4096, ~std::uint64_t{0}}) {
    Published object = publish(kMiB, 1);
    object.size = size;
    EXPECT_EQ(adopt(map, object).code(), StatusCode::kCorruption) << size;
  }
  EXPECT_EQ(map.mapped_segments(), 0u);
}

TEST_F(SegmentMapTest, MemoryWithoutSealsIsRefused) {
  SegmentMap map;
  EXPECT_EQ(map.adopt({5, 1}, os::memory_files().create(kMiB).value(), kMiB).status().code(), StatusCode::kCorruption);

  os::Fd partly = os::memory_files().create(kMiB).value();
  ASSERT_EQ(::fcntl(partly.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_EQ(map.adopt({5, 1}, std::move(partly), kMiB).status().code(), StatusCode::kCorruption);
}

TEST_F(SegmentMapTest, OtherKindsOfDescriptorsAreRefused) {
  SegmentMap map;
  for (const char* path : {"/dev/zero", "/tmp"}) {
    EXPECT_EQ(map.adopt({5, 1}, os::Fd(::open(path, O_RDONLY | O_CLOEXEC)), kMiB).status().code(),
              StatusCode::kCorruption);
  }
  EXPECT_FALSE(map.adopt({5, 1}, os::Fd(), kMiB).is_ok());
  char name[] = "/tmp/fray-segment-map-XXXXXX";
  os::Fd writable(::mkostemp(name, O_CLOEXEC));
  ::unlink(name);
  ASSERT_EQ(::ftruncate(writable.get(), kMiB), 0);
  EXPECT_EQ(map.adopt({5, 1}, std::move(writable), kMiB).status().code(), StatusCode::kCorruption);
}

TEST_F(SegmentMapTest, SpilledSegmentIsViewedFromItsFile) {
  SegmentMap map;
  Published object = publish(2 * kMiB, 6);
  SpillFile file = spill_to_file(object.descriptor.get(), object.size, "/tmp").value();
  ASSERT_TRUE(map.adopt(object.location.segment, std::move(file.descriptor), file.size).is_ok());
  object.descriptor.reset();
  pool_.reset();
  EXPECT_EQ(map.view(object.location).value().bytes.back(), std::byte{6});
}

TEST_F(SegmentMapTest, SmallSegmentsStayMappedForAWhileAndLargeOnesDoNot) {
  SegmentMap map(4 * kMiB);
  Published small = publish(kMiB, 1);
  Published large = publish(5 * kMiB, 2);
  ASSERT_TRUE(adopt(map, small).is_ok());
  ASSERT_TRUE(adopt(map, large).is_ok());
  EXPECT_EQ(map.mapped_segments(), 2u);  // not viewed yet
  ASSERT_TRUE(map.view(small.location).is_ok());
  ASSERT_TRUE(map.view(large.location).is_ok());
  EXPECT_EQ(map.mapped_segments(), 1u);
  EXPECT_TRUE(map.view(small.location).is_ok());
  EXPECT_EQ(map.view(large.location).status().code(), StatusCode::kNotFound);
}

TEST_F(SegmentMapTest, TheLeastRecentlyUsedIdleSegmentGoesFirst) {
  SegmentMap map(2 * kMiB);
  std::vector<Published> objects;
  for (unsigned char i = 0; i < 3; ++i) {
    objects.push_back(publish(kMiB, i));
    ASSERT_TRUE(adopt(map, objects.back()).is_ok());
    ASSERT_TRUE(map.view(objects.back().location).is_ok());
    if (i == 1) {
      ASSERT_TRUE(map.view(objects.front().location).is_ok());
    }
  }
  EXPECT_TRUE(map.view(objects[0].location).is_ok());
  EXPECT_FALSE(map.view(objects[1].location).is_ok());
  EXPECT_TRUE(map.view(objects[2].location).is_ok());
}

TEST_F(SegmentMapTest, ViewedSegmentIsNeverUnmapped) {
  SegmentMap map(0);
  Published object = publish(kMiB, 8);
  ASSERT_TRUE(adopt(map, object).is_ok());
  const View view = map.view(object.location).value();
  for (int i = 0; i < 300; ++i) {
    Published other = publish(kMiB, 1);
    ASSERT_TRUE(adopt(map, other).is_ok());
    ASSERT_TRUE(map.view(other.location).is_ok());
    ASSERT_TRUE(pool_->free(other.location).is_ok());
    pool_->trim();
  }
  EXPECT_EQ(map.mapped_segments(), 1u);
  EXPECT_EQ(view.bytes.back(), std::byte{8});
  EXPECT_EQ(map.view(object.location).value().bytes.data(), view.bytes.data());
  map.forget(object.location.segment);
  EXPECT_FALSE(map.view(object.location).is_ok());
  EXPECT_EQ(view.bytes.back(), std::byte{8});
}

TEST_F(SegmentMapTest, AdoptingTwiceKeepsTheFirstMapping) {
  SegmentMap map;
  Published object = publish(kMiB, 8);
  const int copy = ::fcntl(object.descriptor.get(), F_DUPFD_CLOEXEC, 0);
  ASSERT_TRUE(adopt(map, object).is_ok());
  const View first = map.view(object.location).value();
  ASSERT_TRUE(map.adopt(object.location.segment, os::Fd(copy), object.size).is_ok());
  EXPECT_EQ(map.view(object.location).value().pin, first.pin);
}

TEST_F(SegmentMapTest, WhoTakesASegmentWritesToPagesOfItsOwn) {
  SegmentMap map;
  Published object = publish(2 * kMiB, 8);
  os::Fd again(::fcntl(object.descriptor.get(), F_DUPFD_CLOEXEC, 0));
  os::Fd once_more(::fcntl(object.descriptor.get(), F_DUPFD_CLOEXEC, 0));
  ASSERT_TRUE(adopt(map, object).is_ok());
  const View seen = map.view(object.location).value();
  EXPECT_EQ(map.take(object.location).status().code(), StatusCode::kNotFound) << "others look at that map";
  ASSERT_TRUE(map.adopt(object.location.segment, std::move(again), object.size).is_ok());
  const View taken = map.take(object.location).value();
  taken.pin->writable_data()[kMiB] = std::byte{7};
  EXPECT_EQ(taken.bytes[kMiB], std::byte{7});
  EXPECT_EQ(taken.bytes[kMiB + 8192], std::byte{8});
  EXPECT_EQ(seen.bytes[kMiB], std::byte{8});
  EXPECT_EQ(map.view(object.location).value().pin, seen.pin);
  EXPECT_EQ(map.take(object.location).status().code(), StatusCode::kNotFound) << "it was taken";
  ASSERT_TRUE(map.adopt(object.location.segment, std::move(once_more), object.size).is_ok());
  EXPECT_EQ(map.take(object.location).value().bytes[kMiB], std::byte{8});
}

TEST_F(SegmentMapTest, WithoutMemoryForACopyNothingIsTaken) {
  FailingMemoryFiles files(0);
  SegmentMap map(SegmentMap::kIdleLimitBytes, files);
  Published object = publish(kMiB, 8);
  os::Fd again(::fcntl(object.descriptor.get(), F_DUPFD_CLOEXEC, 0));
  EXPECT_EQ(map.take(object.location).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(adopt(map, object).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(map.take(object.location).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(map.adopt(object.location.segment, std::move(again), object.size).is_ok());
  EXPECT_EQ(map.take(object.location).value().bytes.front(), std::byte{8});
}

TEST_F(SegmentMapTest, ACopyOfAViewCanBeWrittenTo) {
  const std::string bytes(10'000, 'x');
  const View copy = copy_of(std::as_bytes(std::span(bytes))).value();
  copy.pin->writable_data()[0] = std::byte{'y'};
  EXPECT_EQ(copy.bytes.size(), bytes.size());
  EXPECT_EQ(copy.bytes.front(), std::byte{'y'});
  EXPECT_EQ(copy.bytes.back(), std::byte{'x'});
  EXPECT_EQ(bytes.front(), 'x');
}

TEST_F(SegmentMapTest, FailingMapIsAnErrorAndNothingIsKept) {
  FailingMemoryFiles files(0);
  SegmentMap map(SegmentMap::kIdleLimitBytes, files);
  Published object = publish(kMiB, 8);
  EXPECT_EQ(adopt(map, object).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(map.mapped_segments(), 0u);
}

}  // namespace
}  // namespace fray::store
