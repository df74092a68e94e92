#include "client/tasks/wake_budget.h"

#include <gtest/gtest.h>

namespace fray::client {
namespace {

std::size_t woken_at_once(WakeBudget& budget) {
  std::size_t count = 0;
  while (budget.take()) ++count;
  return count;
}

TEST(WakeBudget, AFewActorsAreWokenAtOnceAndMoreWhereThereAreMoreCpus) {
  WakeBudget small([] { return 2.0; });
  WakeBudget large([] { return 64.0; });
  EXPECT_EQ(woken_at_once(small), 4u);
  EXPECT_EQ(woken_at_once(large), 128u);
}

TEST(WakeBudget, CpusAreCountedOnceAndOnlyWhenMoreThanAFewAreToBeWoken) {
  int asked = 0;
  WakeBudget budget([&asked] {
    ++asked;
    return 2.0;
  });
  for (int actor = 0; actor < 4; ++actor) EXPECT_TRUE(budget.take());
  EXPECT_EQ(asked, 0);
  for (int actor = 0; actor < 4; ++actor) EXPECT_FALSE(budget.take());
  EXPECT_EQ(asked, 1);
}

TEST(WakeBudget, ALookWakesSomeMoreWhileActorsAnswer) {
  WakeBudget budget([] { return 2.0; });
  woken_at_once(budget);
  budget.answered();
  EXPECT_EQ(budget.refill(), 4u);
  EXPECT_EQ(woken_at_once(budget), 4u);
}

TEST(WakeBudget, ALookWakesAllWhereNoneHasAnswered) {
  WakeBudget budget([] { return 2.0; });
  budget.answered();
  budget.refill();
  EXPECT_EQ(budget.refill(), WakeBudget::kAll);
}

TEST(WakeBudget, AfterAWaitItBeginsAnew) {
  WakeBudget budget([] { return 2.0; });
  woken_at_once(budget);
  budget.reset();
  EXPECT_EQ(woken_at_once(budget), 4u);
}

}  // namespace
}  // namespace fray::client
