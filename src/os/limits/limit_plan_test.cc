#include "os/limits/limit_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace fray::os {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const GroupPlace kVersion2{"/cg/user", true, true, true};
const GroupPlace kMemory1{"/cg/memory/a", false, true, false};
const GroupPlace kPids1{"/cg/pids", false, false, true};

TEST(LimitPlan, NothingAskedIsNothingDone) {
  LimitPlan plan = plan_limits({}, {kVersion2}, "job");
  EXPECT_THAT(plan.groups, IsEmpty());
  EXPECT_THAT(plan.rlimits, IsEmpty());
}

TEST(LimitPlan, OneGroupDoesWhereVersion2CanDoBoth) {
  LimitPlan plan = plan_limits({.memory_bytes = 100, .processes = 7, .files = 64}, {kVersion2}, "job");
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].folder, "/cg/user/job");
  EXPECT_TRUE(plan.groups[0].limits_memory);
  EXPECT_THAT(plan.groups[0].settings, Contains(Pair("memory.max", "100")));
  EXPECT_THAT(plan.groups[0].settings, Contains(Pair("pids.max", "7")));
  EXPECT_THAT(plan.rlimits, ElementsAre(Pair(RLIMIT_NOFILE, 64)));
  EXPECT_THAT(plan.joins(), ElementsAre("/cg/user/job/cgroup.procs"));
}

TEST(LimitPlan, Version1NeedsAGroupForEachController) {
  LimitPlan plan = plan_limits({.memory_bytes = 100, .processes = 7}, {kPids1, kMemory1}, "job");
  ASSERT_EQ(plan.groups.size(), 2u);
  EXPECT_EQ(plan.groups[0].folder, "/cg/memory/a/job");
  EXPECT_EQ(plan.groups[0].settings.front().first, "memory.limit_in_bytes");
  EXPECT_EQ(plan.groups[1].folder, "/cg/pids/job");
  EXPECT_FALSE(plan.groups[1].limits_memory);
}

TEST(LimitPlan, WithoutGroupsTheLimitsOfProcessesHaveToDo) {
  LimitPlan plan = plan_limits({.memory_bytes = 100, .processes = 7, .files = 64}, {}, "job");
  EXPECT_THAT(plan.groups, IsEmpty());
  EXPECT_THAT(plan.rlimits, ElementsAre(Pair(RLIMIT_DATA, 100), Pair(RLIMIT_NPROC, 7), Pair(RLIMIT_NOFILE, 64)));
}

TEST(LimitPlan, LimitOfProcessesThatNobodyAskedForNeedsAGroup) {
  const LimitRequest request{.processes = 7, .processes_by_group_only = true};
  EXPECT_THAT(plan_limits(request, {}, "job").rlimits, IsEmpty());
  EXPECT_EQ(plan_limits(request, {kPids1}, "job").groups.size(), 1u);
}

TEST(LimitPlan, WhatOneVersionLacksTheOtherDoes) {
  const GroupPlace only_hugetlb{"/cg/unified", true, false, false};
  LimitPlan plan = plan_limits({.memory_bytes = 100, .processes = 7}, {only_hugetlb, kMemory1}, "job");
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].folder, "/cg/memory/a/job");
  EXPECT_THAT(plan.rlimits, ElementsAre(Pair(RLIMIT_NPROC, 7)));
}

}  // namespace
}  // namespace fray::os
