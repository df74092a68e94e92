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
  WakeBudget small(2);
  WakeBudget large(64);
  EXPECT_EQ(woken_at_once(small), 4u);
  EXPECT_EQ(woken_at_once(large), 128u);
}

TEST(WakeBudget, ALookWakesSomeMoreWhileActorsAnswer) {
  WakeBudget budget(2);
  woken_at_once(budget);
  budget.answered();
  EXPECT_EQ(budget.refill(), 4u);
  EXPECT_EQ(woken_at_once(budget), 4u);
}

TEST(WakeBudget, ALookWakesAllWhereNoneHasAnswered) {
  WakeBudget budget(2);
  budget.answered();
  budget.refill();
  EXPECT_EQ(budget.refill(), WakeBudget::kAll);
}

TEST(WakeBudget, AfterAWaitItBeginsAnew) {
  WakeBudget budget(2);
  woken_at_once(budget);
  budget.reset();
  EXPECT_EQ(woken_at_once(budget), 4u);
}

}  // namespace
}  // namespace fray::client
