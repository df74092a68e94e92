#include "store/segment_table.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "store/segment_kind.h"
#include "store/store_fakes.h"

namespace fray::store {
namespace {

constexpr std::uint64_t kGiB = 1u << 30;

SegmentId own(ProcessId writer, std::uint32_t number) { return {writer, number}; }
SegmentId slab(ProcessId writer, std::uint32_t number) { return {writer, number | kSlabNumberBit}; }

// Reserves, announces, and puts one object of the whole size there.
void add(SegmentTable& table, SegmentId segment, std::uint64_t size) {
  ASSERT_TRUE(table.reserve(segment.writer, size).is_ok());
  ASSERT_TRUE(table.announce(segment, os::Fd(), size).is_ok());
  ASSERT_TRUE(table.object_added({segment, 0, size}).is_ok());
}

TEST(SegmentTable, RefusesBeyondTheLimitAndNamesTheLargestHolders) {
  SegmentTable table(4 * kGiB);
  add(table, own(3, 1), 2 * kGiB);
  add(table, own(5, 1), kGiB);
  ASSERT_TRUE(table.object_added({own(5, 1), 0, 10}).code() == StatusCode::kAlreadyExists);
  ASSERT_TRUE(table.reserve(7, kGiB).is_ok());
  const Status status = table.reserve(9, kMiB);
  EXPECT_EQ(status.code(), StatusCode::kStoreFull);
  EXPECT_EQ(status.message(),
            "the store is full: 4.0 GiB of 4.0 GiB used, 1.0 MiB more asked; largest: process 3 2.0 GiB in 1 published "
            "object, process 5 1.0 GiB in 1 published object, process 7 1.0 GiB in 0 published objects");
  EXPECT_EQ(table.used(), 4 * kGiB);
  EXPECT_FALSE(table.reserve(9, ~std::uint64_t{0}).is_ok());
}

TEST(SegmentTable, UnreservingMoreThanIsFreeIsCut) {
  SegmentTable table(kGiB);
  add(table, own(1, 1), 10 * kMiB);
  ASSERT_TRUE(table.reserve(1, 5 * kMiB).is_ok());
  table.unreserve(1, kGiB);
  EXPECT_EQ(table.reserved(1), 10 * kMiB);
  table.unreserve(2, kGiB);
  EXPECT_EQ(table.used(), 10 * kMiB);
}

TEST(SegmentTable, AnnouncingMoreThanReservedOrTwiceIsRefused) {
  SegmentTable table(kGiB);
  EXPECT_EQ(table.announce(own(1, 1), os::Fd(), kMiB).code(), StatusCode::kInvalidArgument);
  add(table, own(1, 1), kMiB);
  EXPECT_EQ(table.announce(own(1, 1), os::Fd(), kMiB).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(table.announce(own(1, 2), os::Fd(), 1).code(), StatusCode::kInvalidArgument);
}

TEST(SegmentTable, PromisedAreTheReservationsThatWereNotAnnounced) {
  SegmentTable table(kGiB);
  ASSERT_TRUE(table.reserve(1, kMiB).is_ok());
  ASSERT_TRUE(table.reserve(1, kMiB).is_ok());
  ASSERT_TRUE(table.reserve(2, kMiB).is_ok());
  EXPECT_EQ(table.promised(), 3u);
  ASSERT_TRUE(table.announce(own(1, 1), os::Fd(), kMiB).is_ok());
  EXPECT_EQ(table.promised(), 2u);
  ASSERT_TRUE(table.forget(own(1, 1)).is_ok());
  table.unreserve(1, kMiB);
  EXPECT_EQ(table.promised(), 2u) << "the announced one was given back, not the other";
  table.unreserve(1, kMiB);
  EXPECT_EQ(table.promised(), 1u);
  table.process_left(2);
  EXPECT_EQ(table.promised(), 0u);
}

TEST(SegmentTable, ObjectsOutsideTheirSegmentAreRefused) {
  SegmentTable table(kGiB);
  ASSERT_TRUE(table.reserve(1, kMiB).is_ok());
  ASSERT_TRUE(table.announce(own(1, 1), os::Fd(), kMiB).is_ok());
  EXPECT_EQ(table.object_added({own(1, 1), 1, kMiB}).code(), StatusCode::kCorruption);
  EXPECT_EQ(table.object_added({own(1, 1), ~std::uint64_t{0}, 2}).code(), StatusCode::kCorruption);
  EXPECT_EQ(table.object_added({own(1, 2), 0, 1}).code(), StatusCode::kNotFound);
}

TEST(SegmentTable, RemovedObjectGoesBackToALivingWriter) {
  SegmentTable table(kGiB);
  add(table, own(1, 1), kMiB);
  EXPECT_EQ(table.object_removed({own(1, 1), 0, 5}).status().code(), StatusCode::kInvalidArgument);
  const auto removed = table.object_removed({own(1, 1), 0, kMiB}).value();
  EXPECT_TRUE(removed.tell_writer);
  EXPECT_FALSE(removed.segment_dropped);
  EXPECT_EQ(table.used(), kMiB);  // warm at its writer
  ASSERT_TRUE(table.forget(own(1, 1)).is_ok());
  table.unreserve(1, kMiB);
  EXPECT_EQ(table.used(), 0u);
  EXPECT_EQ(table.size(), 0u);
}

TEST(SegmentTable, ObjectsOfADeadProcessLiveOn) {
  SegmentTable table(kGiB);
  add(table, own(1, 1), kMiB);
  add(table, own(1, 2), kMiB);
  ASSERT_TRUE(table.object_removed({own(1, 2), 0, kMiB}).is_ok());
  ASSERT_TRUE(table.reserve(1, 7 * kMiB).is_ok());
  EXPECT_EQ(table.process_left(1), std::vector<SegmentId>{own(1, 2)});
  EXPECT_EQ(table.used(), kMiB);
  EXPECT_TRUE(table.open(own(1, 1)).is_ok());
  EXPECT_NE(table.holders_summary(1).find("let go of them 1.0 MiB in 1 published object"), std::string::npos);
  const auto removed = table.object_removed({own(1, 1), 0, kMiB}).value();
  EXPECT_TRUE(removed.segment_dropped);
  EXPECT_FALSE(removed.tell_writer);
  EXPECT_EQ(table.used(), 0u);
}

TEST(SegmentTable, SpillsTheLongestUnusedFirstAndNoSlabOfALivingWriter) {
  SegmentTable table(kGiB);
  add(table, own(1, 1), kMiB);
  add(table, own(1, 2), kMiB);
  add(table, slab(1, 3), kSlabBytes);
  add(table, own(2, 1), kMiB);
  table.touch(own(1, 1));
  EXPECT_EQ(table.choose_spill(), own(1, 2));
  EXPECT_EQ(table.choose_spill(), own(2, 1));
  EXPECT_EQ(table.choose_spill(), own(1, 1));
  EXPECT_EQ(table.choose_spill(), std::nullopt);
  table.process_left(1);
  EXPECT_EQ(table.choose_spill(), slab(1, 3));
}

TEST(SegmentTable, SpilledSegmentCostsNobodyAndIsDroppedWithItsLastObject) {
  SegmentTable table(kGiB);
  add(table, own(1, 1), kMiB);
  ASSERT_EQ(table.choose_spill(), own(1, 1));
  table.writer_let_go(own(1, 1));
  EXPECT_EQ(table.reserved(1), 0u);
  EXPECT_EQ(table.used(), kMiB);
  EXPECT_TRUE(table.spilled(own(1, 1), os::Fd()));
  EXPECT_EQ(table.used(), 0u);
  EXPECT_EQ(table.spilled_bytes(), kMiB);
  EXPECT_TRUE(table.open(own(1, 1)).value().spilled);
  EXPECT_EQ(table.choose_spill(), std::nullopt);
  EXPECT_EQ(table.forget(own(1, 1)).code(), StatusCode::kNotFound);
  EXPECT_TRUE(table.object_removed({own(1, 1), 0, kMiB}).value().segment_dropped);
  EXPECT_EQ(table.spilled_bytes(), 0u);
}

TEST(SegmentTable, ObjectThatLeavesWhileItIsSpilledTakesTheSegmentWithIt) {
  SegmentTable table(kGiB);
  add(table, own(1, 1), kMiB);
  ASSERT_EQ(table.choose_spill(), own(1, 1));
  EXPECT_TRUE(table.object_removed({own(1, 1), 0, kMiB}).value().tell_writer);
  EXPECT_FALSE(table.spilled(own(1, 1), os::Fd()));
  EXPECT_EQ(table.used(), 0u);
  EXPECT_EQ(table.size(), 0u);

  add(table, own(1, 2), kMiB);
  ASSERT_EQ(table.choose_spill(), own(1, 2));
  ASSERT_TRUE(table.object_removed({own(1, 2), 0, kMiB}).is_ok());
  table.writer_let_go(own(1, 2));
  EXPECT_FALSE(table.contains(own(1, 2)));
  EXPECT_FALSE(table.spilled(own(1, 2), os::Fd()));
  EXPECT_EQ(table.used(), 0u);
}

TEST(SegmentTable, RefusedSegmentIsNotChosenBeforeItIsRetried) {
  SegmentTable table(kGiB);
  add(table, own(1, 1), kMiB);
  ASSERT_EQ(table.choose_spill(), own(1, 1));
  table.spill_refused(own(1, 1));
  EXPECT_EQ(table.choose_spill(), std::nullopt);
  table.touch(own(1, 1));
  EXPECT_EQ(table.choose_spill(), std::nullopt);
  table.retry_refused();
  EXPECT_EQ(table.choose_spill(), own(1, 1));
}

TEST(SegmentTable, CopyThatFailsAfterTheWriterLetGoKeepsTheObject) {
  SegmentTable table(kGiB);
  add(table, own(1, 1), kMiB);
  ASSERT_EQ(table.choose_spill(), own(1, 1));
  table.writer_let_go(own(1, 1));
  table.spill_refused(own(1, 1));
  EXPECT_TRUE(table.open(own(1, 1)).is_ok());
  EXPECT_EQ(table.used(), kMiB);
  const auto removed = table.object_removed({own(1, 1), 0, kMiB}).value();
  EXPECT_TRUE(removed.segment_dropped);
  EXPECT_FALSE(removed.tell_writer);
  EXPECT_EQ(table.used(), 0u);
}

// Whatever processes do, the books balance when all of them and all objects are gone.
TEST(SegmentTable, RandomUseBalancesAtTheEnd) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    SegmentTable table(64 * kMiB);
    std::map<std::uint64_t, Location> objects;
    std::uint64_t next_object = 0;
    std::uint32_t next_number = 0;
    std::vector<SegmentId> spilling;
    const auto any_object = [&] { return std::next(objects.begin(), static_cast<long>(random() % objects.size())); };
    for (int step = 0; step < 2'000; ++step) {
      const ProcessId process = 1 + random() % 4;
      switch (random() % 9) {
        case 0:
        case 1: {
          const std::uint64_t size = (1 + random() % 4) * kMiB;
          const SegmentId segment = random() % 3 == 0 ? slab(process, ++next_number) : own(process, ++next_number);
          if (!table.reserve(process, size).is_ok()) break;
          ASSERT_TRUE(table.announce(segment, os::Fd(), size).is_ok());
          objects[next_object++] = {segment, 0, size};
          ASSERT_TRUE(table.object_added({segment, 0, size}).is_ok());
          break;
        }
        case 2:
        case 3:
          if (!objects.empty()) {
            const auto object = any_object();
            const SegmentId segment = object->second.segment;
            ASSERT_TRUE(table.object_removed(object->second).is_ok());
            if (random() % 2 == 0 && table.forget(segment).is_ok())
              table.unreserve(segment.writer, object->second.size);
            objects.erase(object);
          }
          break;
        case 4:
          if (const auto chosen = table.choose_spill()) spilling.push_back(*chosen);
          break;
        case 5:
          if (!spilling.empty()) {
            if (random() % 2 == 0) table.writer_let_go(spilling.back());
            if (random() % 3 == 0) {
              table.spill_refused(spilling.back());
            } else {
              table.spilled(spilling.back(), os::Fd());
            }
            spilling.pop_back();
          }
          break;
        case 6:
          table.retry_refused();
          break;
        case 7:
          if (random() % 20 == 0) table.process_left(process);
          break;
        default:
          table.unreserve(process, random() % kMiB);
          break;
      }
      ASSERT_LE(table.used(), 2 * table.limit());  // a forgotten segment counts twice until it is unreserved
    }
    for (ProcessId process = 1; process <= 4; ++process) table.process_left(process);
    for (const auto& [number, location] : objects) ASSERT_TRUE(table.object_removed(location).is_ok());
    EXPECT_EQ(table.used(), 0u) << seed;
    EXPECT_EQ(table.spilled_bytes(), 0u);
    EXPECT_EQ(table.size(), 0u);
  }
}

}  // namespace
}  // namespace fray::store
