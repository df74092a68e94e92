#include "os/process/crowded_cpu.h"

#include <gtest/gtest.h>

namespace fray::os {

namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(CrowdedCpuTest, ShortYieldsAreNoSignOfACrowd) {
  CrowdedCpu crowd;
  for (std::uint64_t now = kMs; now < 100 * kMs; now += CrowdedCpu::kLongNs) {
    crowd.note_yield(now, now + CrowdedCpu::kLongNs - 1);
    EXPECT_FALSE(crowd.wants_cpu(now + CrowdedCpu::kLongNs));
  }
}

TEST(CrowdedCpuTest, AfterOneLongYieldTheThreadSleepsForAShortTime) {
  CrowdedCpu crowd;
  crowd.note_yield(10 * kMs, 13 * kMs);
  EXPECT_TRUE(crowd.wants_cpu(13 * kMs));
  EXPECT_FALSE(crowd.wants_cpu(13 * kMs + CrowdedCpu::kShortestRestNs));
  crowd.note_yield(1000 * kMs, 1003 * kMs);
  EXPECT_FALSE(crowd.wants_cpu(1003 * kMs + CrowdedCpu::kShortestRestNs)) << "the one before was long ago";
}

TEST(CrowdedCpuTest, InALastingCrowdYieldsAreAFewPercentOfTheTime) {
  CrowdedCpu crowd;
  std::uint64_t now = kMs;
  std::uint64_t given_away = 0;
  while (now < 10'000 * kMs) {
    if (!crowd.wants_cpu(now)) {
      crowd.note_yield(now, now + 3 * kMs);
      now += 3 * kMs;
      given_away += 3 * kMs;
    }
    now += kMs / 10;
  }
  EXPECT_LT(given_away, 400 * kMs);
  EXPECT_FALSE(crowd.wants_cpu(now + CrowdedCpu::kLongestRestNs)) << "it looks again, lest it misses the end";
}

}  // namespace

}  // namespace fray::os
