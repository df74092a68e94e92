#include "scheduler/key_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(KeysInUse, ADriversKeysAreAndThoseThatItsWorkersDefined) {
  EXPECT_THAT(keys_in_use({{.key = 1}, {.key = 1, .own = 1}, {.key = 2, .own = 1}}), ElementsAre(1, 2));
}

TEST(KeysInUse, IdleWorkersAloneKeepNothing) {
  EXPECT_THAT(keys_in_use({{.key = 1, .own = 1}, {.key = 2, .own = 1}, {.key = 1, .own = 2}, {.key = 2, .own = 2}}),
              IsEmpty());
}

TEST(KeysInUse, LeasedWorkersKeepTheirOwnKeyAndWhatTheyDefined) {
  EXPECT_THAT(keys_in_use({{.key = 1, .own = 1, .leased = true}, {.key = 2, .own = 1, .leased = true}}),
              ElementsAre(1, 2));
}

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
  EXPECT_THAT(keeper.surplus({1, 2, 3, 4, 5}, {}, 3 * kSecond), ElementsAre(1));
}

}  // namespace
}  // namespace fray::scheduler
