#include "worker/idle_watch.h"

#include <gtest/gtest.h>

namespace fray::worker {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(IdleWatch, AProcessThatUsesNoCpuIsIdleAfterOneWindow) {
  IdleWatch watch;
  watch.restart(100 * kMs, 7 * kMs);
  EXPECT_FALSE(watch.look(102 * kMs, 7 * kMs));
  EXPECT_TRUE(watch.is_undecided());
  EXPECT_TRUE(watch.look(106 * kMs, 7 * kMs));
  EXPECT_FALSE(watch.is_undecided());
}

TEST(IdleWatch, AProcessThatComputesWhileSomethingWaitsIsNotIdle) {
  IdleWatch watch;
  watch.restart(0, 0);
  for (std::uint64_t at = 6; at < 600; at += 6) EXPECT_FALSE(watch.look(at * kMs, at * kMs));
  EXPECT_TRUE(watch.is_undecided());
  EXPECT_TRUE(watch.look(606 * kMs, 594 * kMs)) << "it has stopped computing";
}

TEST(IdleWatch, AnIdleProcessThatComputesAgainIsNotIdle) {
  IdleWatch watch;
  watch.restart(0, 0);
  ASSERT_TRUE(watch.look(6 * kMs, 0));
  EXPECT_TRUE(watch.look(106 * kMs, 40 * kMs)) << "less than half of the time";
  EXPECT_FALSE(watch.look(206 * kMs, 140 * kMs));
  EXPECT_TRUE(watch.is_undecided());
}

TEST(IdleWatch, TheEndOfAWaitMakesItLookOnceMore) {
  IdleWatch watch;
  watch.restart(0, 0);
  ASSERT_TRUE(watch.look(6 * kMs, 0));
  watch.look_again(50 * kMs, 0);
  EXPECT_TRUE(watch.is_undecided());
  EXPECT_TRUE(watch.look(51 * kMs, kMs)) << "what it was, until a window has passed";
  EXPECT_FALSE(watch.look(56 * kMs, 6 * kMs));
}

TEST(IdleWatch, AProcessThatSpinsUntilTheWaitEndsGivesWayInTheEnd) {
  IdleWatch watch;
  watch.restart(0, 0);
  EXPECT_FALSE(watch.look(IdleWatch::kPatienceNs - kMs, IdleWatch::kPatienceNs - kMs));
  EXPECT_TRUE(watch.look(IdleWatch::kPatienceNs, IdleWatch::kPatienceNs));
  EXPECT_FALSE(watch.is_undecided());
  EXPECT_TRUE(watch.look(IdleWatch::kPatienceNs + 50 * kMs, IdleWatch::kPatienceNs + 50 * kMs));
}

}  // namespace
}  // namespace fray::worker
