#include "node/workers/memory_victim.h"

#include <vector>

#include <gtest/gtest.h>

namespace fray::node {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

ProcessId victim_of(const std::vector<MemoryUse>& workers) {
  auto chosen = choose_victim(workers);
  return chosen ? chosen->worker : 0;
}

MemoryUse task(ProcessId worker, std::uint64_t used, std::uint64_t asked, std::uint64_t started) {
  return {worker, used * kMiB, asked * kMiB, false, true, started};
}

TEST(MemoryVictim, TheTaskThatWasStartedLastGoes) {
  EXPECT_EQ(victim_of({task(1, 500, 0, 10), task(2, 500, 0, 30), task(3, 500, 0, 20)}), 2u);
}

TEST(MemoryVictim, ATaskOfLessThanItsShareStays) {
  EXPECT_EQ(victim_of({task(1, 900, 0, 10), task(2, 100, 0, 30)}), 1u);
}

TEST(MemoryVictim, ATaskThatKeepsToWhatItAskedForGoesAfterOthers) {
  EXPECT_EQ(victim_of({task(1, 500, 0, 10), task(2, 500, 600, 30)}), 1u);
  EXPECT_EQ(victim_of({task(1, 500, 600, 10), task(2, 500, 600, 30)}), 2u);
}

TEST(MemoryVictim, TheLargestIdleWorkerGoesBeforeAnyTask) {
  MemoryUse small{7, 100 * kMiB, 0, true, true, 0};
  MemoryUse large{8, 200 * kMiB, 0, true, true, 0};
  EXPECT_EQ(victim_of({task(1, 900, 0, 10), small, large}), 8u);
}

TEST(MemoryVictim, WhatComesBackGoesBeforeAnActorThatIsNeverRestarted) {
  MemoryUse last = task(2, 500, 0, 30);
  last.comes_back = false;
  EXPECT_EQ(victim_of({task(1, 300, 0, 10), last}), 1u);
  EXPECT_EQ(victim_of({last}), 2u);
}

TEST(MemoryVictim, WhatUsesNextToNothingBesideTheLargestStays) {
  MemoryUse last = task(2, 5000, 0, 10);
  last.comes_back = false;
  EXPECT_EQ(victim_of({task(1, 100, 0, 30), last}), 2u);
  EXPECT_EQ(victim_of({task(1, 100, 0, 30), task(2, 5000, 6000, 10)}), 2u);
}

TEST(MemoryVictim, NobodyGoesForLittle) {
  EXPECT_EQ(victim_of({task(1, 20, 0, 10), {7, 20 * kMiB, 0, true, true, 0}}), 0u);
  EXPECT_EQ(victim_of({}), 0u);
}

}  // namespace
}  // namespace fray::node
