#include "store/segment_pool.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "store/segment_kind.h"
#include "store/store_fakes.h"

namespace fray::store {
namespace {

void fill(const Block& block, unsigned char value) { std::memset(block.data, value, block.location.size); }

TEST(SegmentPool, SmallObjectsShareASlab) {
  FakeBudget budget;
  SegmentPool pool({7}, budget);
  const Block a = pool.allocate(100).value();
  const Block b = pool.allocate(kMiB - 1).value();
  EXPECT_EQ(a.location.segment, b.location.segment);
  EXPECT_TRUE(is_slab(a.location.segment));
  EXPECT_EQ(a.location.segment.writer, 7u);
  EXPECT_FALSE(a.cold);
  EXPECT_EQ(b.location.offset % kObjectAlignment, 0u);
  EXPECT_EQ(budget.used(), kSlabBytes);
}

TEST(SegmentPool, LargeObjectsHaveASegmentEach) {
  FakeBudget budget;
  SegmentPool pool({7}, budget);
  const Block a = pool.allocate(kMiB).value();
  const Block b = pool.allocate(kMiB + 1).value();
  EXPECT_NE(a.location.segment, b.location.segment);
  EXPECT_FALSE(is_slab(a.location.segment));
  EXPECT_TRUE(a.cold);
  EXPECT_EQ(budget.used(), 2 * kMiB + 4096);
}

TEST(SegmentPool, FreedSegmentIsTakenWarmByAnObjectOfHalfItsSizeOrMore) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block first = pool.allocate(8 * kMiB).value();
  fill(first, 1);
  ASSERT_TRUE(pool.free(first.location).is_ok());
  EXPECT_EQ(pool.usage().warm_bytes, 8 * kMiB);

  const Block small = pool.allocate(2 * kMiB).value();
  EXPECT_NE(small.location.segment, first.location.segment);
  const Block again = pool.allocate(5 * kMiB).value();
  EXPECT_EQ(again.location.segment, first.location.segment);
  EXPECT_FALSE(again.cold);
  EXPECT_EQ(again.location.size, 5 * kMiB);
  EXPECT_EQ(budget.used(), 10 * kMiB);
}

TEST(SegmentPool, SegmentThatWasNeverWrittenStaysCold) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block first = pool.allocate(4 * kMiB).value();
  first.data[0] = std::byte{1};
  ASSERT_TRUE(pool.free(first.location).is_ok());
  EXPECT_TRUE(pool.allocate(4 * kMiB).value().cold);
}

TEST(SegmentPool, PopulatedBlockIsWarmNextTime) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block first = pool.allocate(4 * kMiB).value();
  ASSERT_TRUE(pool.populate(first).is_ok());
  ASSERT_TRUE(pool.publish(first.location.segment).is_ok());
  ASSERT_TRUE(pool.free(first.location).is_ok());
  EXPECT_FALSE(pool.allocate(4 * kMiB).value().cold);
}

TEST(SegmentPool, WarmListIsBoundedAndDroppingIsReported) {
  FakeBudget budget;
  SegmentPool pool({1, 3 * kMiB}, budget);
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(pool.allocate(kMiB).value());
  ASSERT_TRUE(pool.publish(blocks[3].location.segment).is_ok());
  for (const Block& block : blocks) ASSERT_TRUE(pool.free(block.location).is_ok());
  EXPECT_EQ(pool.usage().warm_bytes, 3 * kMiB);
  EXPECT_EQ(budget.used(), 3 * kMiB);
  EXPECT_EQ(budget.forgotten(), std::vector<SegmentId>{blocks[3].location.segment});
  EXPECT_EQ(pool.trim(), 3 * kMiB);
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_EQ(pool.usage().segments, 0u);
}

TEST(SegmentPool, WarmMemoryIsGivenUpBeforeTheStoreIsCalledFull) {
  FakeBudget budget(10 * kMiB);
  SegmentPool pool({1}, budget);
  const Block small = pool.allocate(2 * kMiB).value();
  ASSERT_TRUE(pool.free(small.location).is_ok());
  const auto large = pool.allocate(10 * kMiB);
  ASSERT_TRUE(large.is_ok());
  EXPECT_EQ(pool.allocate(kMiB).status().code(), StatusCode::kStoreFull);
  EXPECT_EQ(pool.allocate(10).status().code(), StatusCode::kStoreFull);
  ASSERT_TRUE(pool.free(large.value().location).is_ok());
  EXPECT_TRUE(pool.allocate(kMiB).is_ok());
}

TEST(SegmentPool, PublishesOnceAndSealsAgainstEverybodyElse) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block block = pool.allocate(kMiB).value();
  fill(block, 1);
  const Publication news = pool.publish(block.location.segment).value();
  ASSERT_TRUE(news.descriptor.is_open());
  EXPECT_EQ(news.size, kMiB);
  EXPECT_FALSE(pool.publish(block.location.segment).value().descriptor.is_open());

  const int descriptor = news.descriptor.get();
  EXPECT_LT(::pwrite(descriptor, "x", 1, 0), 0);
  EXPECT_LT(::ftruncate(descriptor, 0), 0);
  EXPECT_LT(::ftruncate(descriptor, 2 * kMiB), 0);
  EXPECT_LT(::fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_LT(::fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_EQ(::mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), MAP_FAILED);

  void* readable = ::mmap(nullptr, kMiB, PROT_READ, MAP_SHARED, descriptor, 0);
  ASSERT_NE(readable, MAP_FAILED);
  EXPECT_LT(::mprotect(readable, kMiB, PROT_READ | PROT_WRITE), 0);
  fill(block, 2);  // the writer's own mapping goes on
  EXPECT_EQ(static_cast<unsigned char*>(readable)[kMiB - 1], 2);
  ::munmap(readable, kMiB);
}

TEST(SegmentPool, ReusesAPublishedSegmentWithoutPublishingItAgain) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block first = pool.allocate(kMiB).value();
  fill(first, 1);
  ASSERT_TRUE(pool.publish(first.location.segment).value().descriptor.is_open());
  ASSERT_TRUE(pool.free(first.location).is_ok());
  const Block second = pool.allocate(kMiB).value();
  EXPECT_EQ(second.location.segment, first.location.segment);
  EXPECT_EQ(second.descriptor, -1);
  fill(second, 2);
  EXPECT_FALSE(pool.publish(second.location.segment).value().descriptor.is_open());
}

TEST(SegmentPool, WrongLocationsChangeNothing) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block large = pool.allocate(kMiB).value();
  const Block small = pool.allocate(100).value();
  for (const Location& good : {large.location, small.location}) {
    Location wrong = good;
    wrong.size += 1;
    EXPECT_EQ(pool.free(wrong).code(), StatusCode::kInvalidArgument);
    EXPECT_FALSE(pool.view(wrong).is_ok());
    wrong = good;
    wrong.offset += 64;
    EXPECT_EQ(pool.free(wrong).code(), StatusCode::kInvalidArgument);
    wrong.offset = ~std::uint64_t{0};
    EXPECT_EQ(pool.free(wrong).code(), StatusCode::kInvalidArgument);
    wrong = good;
    wrong.segment.number += 17;
    EXPECT_EQ(pool.free(wrong).code(), StatusCode::kNotFound);
    wrong = good;
    wrong.segment.writer = 2;
    EXPECT_EQ(pool.free(wrong).code(), StatusCode::kNotFound);
    EXPECT_FALSE(pool.publish(wrong.segment).is_ok());
  }
  EXPECT_EQ(pool.usage().objects, 2u);
  EXPECT_TRUE(pool.free(large.location).is_ok());
  EXPECT_EQ(pool.free(large.location).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(pool.free(small.location).is_ok());
  EXPECT_EQ(pool.free(small.location).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(pool.allocate(~std::uint64_t{0}).status().code(), StatusCode::kInvalidArgument);
}

TEST(SegmentPool, ViewedSegmentIsNotReusedAndOutlivesThePool) {
  FakeBudget budget;
  View view;
  {
    SegmentPool pool({1}, budget);
    const Block block = pool.allocate(kMiB).value();
    fill(block, 3);
    view = pool.view(block.location).value();
    ASSERT_TRUE(pool.free(block.location).is_ok());
    EXPECT_EQ(pool.usage().warm_bytes, 0u);
    fill(pool.allocate(kMiB).value(), 4);
  }
  EXPECT_EQ(view.bytes.size(), kMiB);
  EXPECT_EQ(view.bytes[kMiB - 1], std::byte{3});
}

TEST(SegmentPool, RetiredMemoryIsNeverWrittenAgain) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block large = pool.allocate(kMiB).value();
  ASSERT_TRUE(pool.retire(large.location).is_ok());
  EXPECT_EQ(pool.usage().warm_bytes, 0u);

  const Block keeper = pool.allocate(64).value();
  const Block small = pool.allocate(64).value();
  ASSERT_TRUE(pool.retire(small.location).is_ok());
  EXPECT_NE(pool.allocate(64).value().location.offset, small.location.offset);
  EXPECT_EQ(pool.retire(small.location).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(pool.free(keeper.location).is_ok());
}

TEST(SegmentPool, OneEmptySlabStaysAndASecondOneGoes) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  std::vector<Block> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(pool.allocate(kMiB - 64).value());
  EXPECT_EQ(budget.used(), 3 * kSlabBytes);
  for (const Block& block : blocks) ASSERT_TRUE(pool.free(block.location).is_ok());
  EXPECT_EQ(budget.used(), kSlabBytes);
  EXPECT_EQ(pool.trim(), kSlabBytes);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(SegmentPool, EvictsOnlyWhatNobodyViewsHere) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block block = pool.allocate(kMiB).value();
  EXPECT_EQ(pool.evict(block.location.segment).code(), StatusCode::kInvalidArgument);  // unpublished
  const Publication news = pool.publish(block.location.segment).value();
  {
    const View view = pool.view(block.location).value();
    EXPECT_EQ(pool.evict(block.location.segment).code(), StatusCode::kUnavailable);
  }
  ASSERT_TRUE(pool.evict(block.location.segment).is_ok());
  EXPECT_EQ(pool.view(block.location).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(pool.free(block.location).code(), StatusCode::kNotFound);
  EXPECT_EQ(pool.usage().segment_bytes, 0u);
  EXPECT_EQ(budget.used(), kMiB);  // the node accounts for it
  EXPECT_TRUE(budget.forgotten().empty());

  const Block small = pool.allocate(10).value();
  ASSERT_TRUE(pool.publish(small.location.segment).is_ok());
  EXPECT_EQ(pool.evict(small.location.segment).code(), StatusCode::kInvalidArgument);
}

TEST(SegmentPool, ForkedChildHasNoWritableMapping) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block block = pool.allocate(kMiB).value();
  fill(block, 1);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    unsigned char resident = 0;
    ::_exit(::mincore(block.data, 1, &resident) == -1 && errno == ENOMEM ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SegmentPool, ForkedChildReadsWhatIsViewedAndCannotWriteIt) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block block = pool.allocate(kMiB).value();
  fill(block, 7);
  const View view = pool.view(block.location).value();
  for (const bool writes : {false, true}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::signal(SIGSEGV, SIG_DFL);
      if (writes) block.data[0] = std::byte{8};
      ::_exit(view.bytes.back() == std::byte{7} ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(writes ? status != 0 : status == 0) << status;
    EXPECT_EQ(view.bytes.front(), std::byte{7});
  }
}

TEST(SegmentPool, WhatIsWrittenToARoomAfterItWasTakenStaysPrivate) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  for (int round = 0; round < 3; ++round) {
    const Block room = pool.allocate_room(2 * kMiB).value();
    fill(room, 1);
    const View theirs = pool.view(room.location).value();
    ASSERT_TRUE(pool.take_private(room.location).is_ok());
    EXPECT_TRUE(pool.publish(room.location.segment).value().descriptor.is_open());
    const View object = pool.view(room.location).value();
    EXPECT_NE(object.bytes.data(), theirs.bytes.data());
    room.data[5] = std::byte{9};
    EXPECT_EQ(theirs.bytes[5], std::byte{9});
    EXPECT_EQ(object.bytes[5], std::byte{1});
    EXPECT_EQ(theirs.bytes[kMiB], std::byte{1});
    EXPECT_TRUE(pool.free(room.location).is_ok());
    EXPECT_EQ(pool.usage().warm_bytes, 0u) << "somebody sees it: it is not reused";
  }
}

// Minor faults of this thread while it reads a byte of each page of `bytes`.
std::int64_t faults_of_reading(std::span<const std::byte> bytes) {
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_THREAD, &before);
  for (std::size_t at = 0; at < bytes.size(); at += os::page_bytes()) {
    const volatile std::byte* const byte = &bytes[at];
    static_cast<void>(*byte);
  }
  ::getrusage(RUSAGE_THREAD, &after);
  return after.ru_minflt - before.ru_minflt;
}

TEST(SegmentPool, AnObjectMadeOfARoomIsReadWithoutMappingItsPagesAgain) {
  if (kUnderAddressSanitizer || kUnderThreadSanitizer) GTEST_SKIP() << "each read faults in the sanitizer's shadow too";
  constexpr std::uint64_t kSize = 16 * kMiB;
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  const Block room = pool.allocate_room(kSize).value();
  fill(room, 1);
  ASSERT_TRUE(pool.take_private(room.location).is_ok());
  const View object = pool.view(room.location).value();
  EXPECT_EQ(object.bytes.back(), std::byte{1});
  EXPECT_LT(faults_of_reading(object.bytes), 64) << "of " << kSize / os::page_bytes() << " pages";
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object.bytes.data()) % (2 * kMiB), 0u);
}

// Every system call fails once: the answer is an error or (after a second try) a block, and nothing leaks.
TEST(SegmentPool, AnyFailingCallLeavesThePoolAsItWas) {
  for (const std::uint64_t size : {std::uint64_t{100}, 2 * kMiB}) {
    for (int failing = 0; failing < 4; ++failing) {
      FailingMemoryFiles files(failing);
      FakeBudget budget;
      SegmentPool pool({1}, budget, files);
      const auto block = pool.allocate(size);
      if (block.is_ok()) {
        (void)pool.publish(block.value().location.segment).is_ok();
        EXPECT_TRUE(pool.publish(block.value().location.segment).is_ok());
        EXPECT_TRUE(pool.free(block.value().location).is_ok());
      } else {
        EXPECT_EQ(block.status().code(), StatusCode::kResourceExhausted);
        EXPECT_EQ(budget.used(), 0u);
        EXPECT_EQ(pool.usage().segments, 0u);
      }
      pool.trim();
      EXPECT_EQ(budget.used(), 0u);
      if (files.calls() > failing) {
        EXPECT_TRUE(pool.allocate(size).is_ok());
      }
    }
  }
}

TEST(SegmentPool, ExhaustedDescriptorsAreAnErrorAndWarmSegmentsAreGivenUpFirst) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(0);
  ::close(next);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next + 2);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  const auto a = pool.allocate(kMiB);
  const auto b = pool.allocate(kMiB);
  const auto refused = pool.allocate(kMiB);
  if (a.is_ok()) {
    EXPECT_TRUE(pool.free(a.value().location).is_ok());
  }
  const auto retried = pool.allocate(4 * kMiB);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(a.is_ok());
  EXPECT_TRUE(b.is_ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(retried.is_ok());
  EXPECT_EQ(budget.used(), 5 * kMiB);
}

TEST(SegmentPool, LimitOnFileSizesIsAnErrorAndNoSignal) {
  FakeBudget budget;
  SegmentPool pool({1}, budget);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = kMiB;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto refused = pool.allocate(2 * kMiB);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(SegmentPool, RandomUseKeepsEveryObjectsBytes) {
  FakeBudget budget(256 * kMiB);
  SegmentPool pool({1, 16 * kMiB}, budget);
  std::mt19937 random(11);
  struct Kept {
    Block block;
    unsigned char mark;
  };
  std::vector<Kept> kept;
  const auto check_and_free = [&](std::size_t index) {
    const Kept object = kept[index];
    const auto* bytes = reinterpret_cast<const unsigned char*>(object.block.data);
    EXPECT_EQ(bytes[0], object.mark);
    EXPECT_EQ(bytes[object.block.location.size - 1], object.mark);
    ASSERT_TRUE(pool.free(object.block.location).is_ok());
    kept[index] = kept.back();
    kept.pop_back();
  };
  for (int step = 0; step < 4'000; ++step) {
    if (random() % 2 == 0 || kept.empty()) {
      const std::uint64_t size = 1 + random() % (random() % 50 == 0 ? 3 * kMiB : 40'000);
      const auto block = pool.allocate(size);
      if (!block.is_ok()) continue;
      const auto mark = static_cast<unsigned char>(random());
      reinterpret_cast<unsigned char*>(block.value().data)[0] = mark;
      reinterpret_cast<unsigned char*>(block.value().data)[size - 1] = mark;
      kept.push_back({block.value(), mark});
      if (random() % 3 == 0) {
        ASSERT_TRUE(pool.publish(block.value().location.segment).is_ok());
      }
    } else {
      check_and_free(random() % kept.size());
    }
    if (step % 500 == 0) pool.release_warm(4 * kMiB);
  }
  while (!kept.empty()) check_and_free(0);
  EXPECT_EQ(pool.usage().objects, 0u);
  EXPECT_EQ(pool.usage().object_bytes, 0u);
  pool.trim();
  EXPECT_EQ(pool.usage().segments, 0u);
  EXPECT_EQ(budget.used(), 0u);
}

class LockedBudget : public MemoryBudget {
 public:
  Status reserve(std::uint64_t bytes) override {
    used += bytes;
    return Status::ok();
  }
  void unreserve(std::uint64_t bytes) override { used -= bytes; }
  void forget(SegmentId) override {}
  std::atomic<std::uint64_t> used = 0;
};

TEST(SegmentPool, ServesManyThreads) {
  LockedBudget budget;
  SegmentPool pool({1, 4 * kMiB}, budget);
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&pool, thread] {
      std::mt19937 random(thread);
      for (int i = 0; i < 300; ++i) {
        const Block block = pool.allocate(1 + random() % (i % 20 == 0 ? 2 * kMiB : 5'000)).value();
        fill(block, static_cast<unsigned char>(thread));
        const View view = pool.view(block.location).value();
        ASSERT_EQ(view.bytes.back(), static_cast<std::byte>(thread));
        ASSERT_TRUE(pool.publish(block.location.segment).is_ok());
        ASSERT_TRUE(pool.free(block.location).is_ok());
      }
    });
  }
  threads.clear();
  pool.trim();
  EXPECT_EQ(budget.used, 0u);
}

}  // namespace
}  // namespace fray::store
