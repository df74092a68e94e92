#include "os/machine/machine.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "os/machine/kernel.h"

namespace fray::os {
namespace {

class GroupLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "fray-groups-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    std::filesystem::path path = root_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string root_;
};

TEST_F(GroupLimitsTest, Version2TakesTheTightestLimitUpToTheRoot) {
  write("a/b/cpu.max", "max 100000");
  write("a/cpu.max", "150000 100000");
  write("a/b/memory.max", "1048576");
  write("a/memory.max", "max");
  GroupLimits limits = read_group_limits("0::/a/b\n", root_);
  EXPECT_DOUBLE_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.memory_bytes, 1048576u);
}

TEST_F(GroupLimitsTest, OvercommitIsStrictWhenItsSettingIsTwo) {
  write("setting", "2\n");
  EXPECT_TRUE(overcommit_is_strict(root_ + "/setting"));
  write("setting", "1\n");
  EXPECT_FALSE(overcommit_is_strict(root_ + "/setting"));
  EXPECT_FALSE(overcommit_is_strict(root_ + "/absent"));
}

TEST_F(GroupLimitsTest, Version1ReadsEachControllersFolder) {
  write("cpu/job/cpu.cfs_quota_us", "200000");
  write("cpu/job/cpu.cfs_period_us", "100000");
  write("memory/job/memory.limit_in_bytes", "67108864");
  write("memory/memory.limit_in_bytes", "9223372036854771712");
  GroupLimits limits = read_group_limits("5:cpu,cpuacct:/job\n9:memory:/job\n", root_);
  EXPECT_DOUBLE_EQ(limits.cpus, 2.0);
  EXPECT_EQ(limits.memory_bytes, 67108864u);
}

TEST_F(GroupLimitsTest, WhatCannotBeReadDoesNotLimit) {
  GroupLimits limits = read_group_limits("0::/nowhere\nnonsense\n", root_);
  EXPECT_EQ(limits.cpus, 0);
  EXPECT_EQ(limits.memory_bytes, 0u);
}

TEST(Machine, HasAtLeastOneCpuAndSomeMemory) {
  EXPECT_GE(usable_cpus(), 1.0);
  EXPECT_GT(usable_memory_bytes(), 0u);
}

TEST(Kernel, OldReleasesAreRefusedWithBothVersions) {
  EXPECT_TRUE(check_kernel_release("5.4.0-generic").is_ok());
  EXPECT_TRUE(check_kernel_release("6.18.44").is_ok());
  Status old = check_kernel_release("4.19.0-26-amd64");
  EXPECT_EQ(old.code(), StatusCode::kUnavailable);
  EXPECT_NE(old.message().find("5.4"), std::string::npos);
  EXPECT_NE(old.message().find("4.19.0-26-amd64"), std::string::npos);
  EXPECT_FALSE(check_kernel_release("").is_ok());
}

}  // namespace
}  // namespace fray::os
