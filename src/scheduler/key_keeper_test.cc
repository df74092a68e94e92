#include "scheduler/key_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(KeyKeeper, KeyOutOfUseIsKeptForAWhile) {
  KeyKeeper keeper;
  EXPECT_THAT(keeper.surplus({1}, {}, 5 * kSecond), IsEmpty());
  EXPECT_EQ(keeper.next_ns(), 15 * kSecond);
  EXPECT_THAT(keeper.surplus({1}, {}, 14 * kSecond), IsEmpty());
  EXPECT_THAT(keeper.surplus({1}, {}, 15 * kSecond), ElementsAre(1));
  EXPECT_EQ(keeper.next_ns(), 0u);
}

TEST(KeyKeeper, UseBeginsTheWhileAnew) {
  KeyKeeper keeper;
  keeper.surplus({1}, {}, 1 * kSecond);
  EXPECT_THAT(keeper.surplus({1}, {1}, 9 * kSecond), IsEmpty());
  EXPECT_EQ(keeper.next_ns(), 0u);
  EXPECT_THAT(keeper.surplus({1}, {}, 12 * kSecond), IsEmpty());
}

TEST(KeyKeeper, OfManyOutOfUseTheOnesUsedLastAreKept) {
  KeyKeeper keeper;
  keeper.surplus({1, 2}, {2}, 1 * kSecond);
  keeper.surplus({1, 2}, {}, 2 * kSecond);
  EXPECT_THAT(keeper.surplus({1, 2, 3}, {}, 3 * kSecond), ElementsAre(1));
}

TEST(KeyKeeper, ThousandsUsedOneAfterTheOtherLeaveNoMoreThanAFew) {
  KeyKeeper keeper;
  std::vector<WorkerKeyId> existing;
  for (WorkerKeyId key = 1; key <= 5000; ++key) {
    existing.push_back(key);
    for (WorkerKeyId gone : keeper.surplus(existing, {key}, key * kSecond / 100)) std::erase(existing, gone);
    ASSERT_LE(existing.size(), KeyKeeper::kMostKept + 1);
  }
  for (WorkerKeyId gone : keeper.surplus(existing, {}, 51 * kSecond)) std::erase(existing, gone);
  EXPECT_THAT(keeper.surplus(existing, {}, 61 * kSecond), SizeIs(existing.size()));
}

TEST(KeyKeeper, AllThatAreInUseAreKeptHoweverMany) {
  KeyKeeper keeper;
  std::vector<WorkerKeyId> existing;
  std::set<WorkerKeyId> used;
  for (WorkerKeyId key = 1; key <= 100; ++key) {
    existing.push_back(key);
    used.insert(key);
  }
  EXPECT_THAT(keeper.surplus(existing, used, 100 * kSecond), IsEmpty());
  EXPECT_EQ(keeper.next_ns(), 0u);
}

}  // namespace
}  // namespace fray::scheduler
