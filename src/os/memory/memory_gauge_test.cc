#include "os/memory/memory_gauge.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace fray::os {
namespace {

class MemoryGaugeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "fray-gauge-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    root_ = path;
    write("proc/meminfo", "MemTotal:  1000000 kB\nMemFree:  10 kB\nMemAvailable:  500000 kB\n");
    write("proc/vmstat", "oom_kill 3\noom_kill_other 9\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    std::filesystem::path path = root_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  MemoryGauge gauge(const std::string& membership) {
    return MemoryGauge(membership, root_ + "/groups", root_ + "/proc");
  }
  std::string root_;
};

TEST_F(MemoryGaugeTest, WithoutGroupsTheMachineCounts) {
  MemoryRoom room = gauge("0::/\n").room();
  EXPECT_EQ(room.limit_bytes, 1000000u * 1024);
  EXPECT_EQ(room.available_bytes, 500000u * 1024);
  EXPECT_FALSE(room.is_short());
  EXPECT_EQ(gauge("0::/\n").kernel_kills(), 3u);
}

TEST_F(MemoryGaugeTest, ShortIsLessThanATwentiethAndLessThanAGibibyte) {
  EXPECT_TRUE((MemoryRoom{1000, 49}).is_short());
  EXPECT_FALSE((MemoryRoom{1000, 50}).is_short());
  EXPECT_FALSE((MemoryRoom{1ull << 40, 1ull << 30}).is_short());
  EXPECT_FALSE(MemoryRoom{}.is_short());
}

TEST_F(MemoryGaugeTest, ScarceIsLessThanTwiceOfWhatIsShort) {
  EXPECT_TRUE((MemoryRoom{1000, 99}).is_scarce());
  EXPECT_FALSE((MemoryRoom{1000, 100}).is_scarce());
  EXPECT_FALSE(MemoryRoom{}.is_scarce());
}

TEST_F(MemoryGaugeTest, AThresholdSaysWhenMemoryIsShort) {
  EXPECT_TRUE((MemoryRoom{1000, 599, 0.4}).is_short());
  EXPECT_FALSE((MemoryRoom{1000, 601, 0.4}).is_short());
  EXPECT_TRUE((MemoryRoom{1000, 640, 0.4}).is_scarce());
  EXPECT_FALSE((MemoryRoom{1000, 660, 0.4}).is_scarce());
  MemoryGauge gauge("0::/\n", root_ + "/groups", root_ + "/proc", 0.4);
  EXPECT_TRUE(gauge.room().is_short()) << "half of the machine's memory is used";
}

TEST_F(MemoryGaugeTest, AScarceGroupCountsOnAMachineThatHasMemoryLeft) {
  write("groups/a/memory.max", "100000000\n");
  write("groups/a/memory.current", "92000000\n");
  write("groups/a/memory.stat", "anon 7\ninactive_file 1000\nactive_file 1000\n");
  const MemoryRoom room = gauge("0::/a\n").room();
  EXPECT_EQ(room.limit_bytes, 100000000u);
  EXPECT_TRUE(room.is_scarce());
  EXPECT_FALSE(room.is_short());
}

TEST_F(MemoryGaugeTest, AFullGroupIsShortOnceItsCachesAreCountedAsFree) {
  write("groups/a/memory.max", "100000000\n");
  write("groups/a/memory.current", "99000000\n");
  write("groups/a/memory.events", "oom 5\noom_kill 2\n");
  write("groups/a/memory.stat", "anon 7\ninactive_file 30000000\nactive_file 1000000\n");
  EXPECT_FALSE(gauge("0::/a\n").room().is_short());
  EXPECT_EQ(gauge("0::/a\n").kernel_kills(), 2u);
  write("groups/a/memory.stat", "anon 7\ninactive_file 1000\nactive_file 1000\n");
  MemoryRoom room = gauge("0::/a\n").room();
  EXPECT_TRUE(room.is_short());
  EXPECT_EQ(room.limit_bytes, 100000000u);
  EXPECT_EQ(room.available_bytes, 1002000u);
}

TEST_F(MemoryGaugeTest, Version1HasItsOwnNames) {
  write("groups/memory/job/memory.limit_in_bytes", "100000000\n");
  write("groups/memory/job/memory.usage_in_bytes", "99000000\n");
  write("groups/memory/job/memory.stat", "inactive_file 90000000\ntotal_inactive_file 0\ntotal_active_file 0\n");
  write("groups/memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_TRUE(gauge("4:memory:/job\n").room().is_short());
  EXPECT_EQ(gauge("4:memory:/job\n").kernel_kills(), 4u);
}

}  // namespace
}  // namespace fray::os
