#include "os/limits/limit_groups.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fray::os {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Folders and files as the kernel shows them.
class FindGroupPlaces : public testing::Test {
 protected:
  ~FindGroupPlaces() override { fs::remove_all(root_); }
  void file(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_ = testing::TempDir() + "fray-groups-" + std::to_string(::getpid());
};

TEST_F(FindGroupPlaces, Version2NeedsAPlaceThatHandsControllersDown) {
  file("/user/app/me/cgroup.subtree_control", "");
  file("/user/app/cgroup.subtree_control", "cpu memory pids");
  file("/user/cgroup.subtree_control", "cpu memory pids");
  auto places = find_group_places("0::/user/app/me\n", root_);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].folder, root_ + "/user/app");
  EXPECT_TRUE(places[0].version_2 && places[0].limits_memory && places[0].limits_processes);
}

TEST_F(FindGroupPlaces, Version1HasAPlaceForEachController) {
  file("/memory/box/memory.limit_in_bytes", "9223372036854771712");
  file("/pids/cgroup.procs", "");
  file("/unified/cgroup.subtree_control", "hugetlb");
  auto places = find_group_places("8:pids:/\n4:memory:/box\n1:cpu:/\n0::/\n", root_);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].folder, root_ + "/pids");
  EXPECT_TRUE(places[0].limits_processes && !places[0].limits_memory);
  EXPECT_EQ(places[1].folder, root_ + "/memory/box");
  EXPECT_TRUE(places[1].limits_memory && !places[1].version_2);
}

TEST_F(FindGroupPlaces, InsideAContainerTheRootCounts) {
  file("/memory/memory.limit_in_bytes", "1");
  auto places = find_group_places("4:memory:/of/the/host\n", root_);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].folder, root_ + "/memory");
}

TEST_F(FindGroupPlaces, ThereAreNoneWithoutControlGroups) {
  EXPECT_TRUE(find_group_places("", root_).empty());
  EXPECT_TRUE(find_group_places("0::/\nnonsense\n", root_).empty());
}

// Against the kernel, as far as it lets us.
class LimitGroupsTest : public testing::Test {
 protected:
  void plan(const LimitRequest& request) {
    plan_ = plan_limits(request, find_group_places(), "fray-test-" + std::to_string(::getpid()));
    auto made = LimitGroups::make(plan_);
    if (!made.is_ok()) GTEST_SKIP() << "no control group can be made here: " << made.status().message();
    ASSERT_TRUE(made.is_ok());
  }
  void TearDown() override {
    for (int i = 0; i < 500 && !LimitGroups::of(plan_).remove(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the kernel takes its time with the dead
    }
    for (const auto& group : plan_.groups) EXPECT_FALSE(fs::exists(group.folder));
  }
  // As whoever starts processes does it. Returns the wait status.
  template <typename Body>
  int run(const Body& body) const {
    const std::vector<std::string> joins = plan_.joins();
    const pid_t child = ::fork();
    if (child == 0) {
      for (const std::string& file : joins) {
        const int fd = ::open(file.c_str(), O_WRONLY);
        if (fd < 0 || ::write(fd, "0", 1) != 1) ::_exit(99);
      }
      for (const auto& [resource, most] : plan_.rlimits) {
        const rlimit limit{most, most};
        ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
      }
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  LimitPlan plan_;
};

TEST_F(LimitGroupsTest, AProcessPastItsMemoryDiesAloneAndThePeakIsKnown) {
  plan({.memory_bytes = 64ull << 20});
  if (plan_.groups.empty()) GTEST_SKIP() << "control groups for memory cannot be written to";
  EXPECT_EQ(LimitGroups::of(plan_).memory().verdict(), "");
  const int status = run([] {
    constexpr std::size_t kBytes = 200u << 20;
    void* room = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* memory = static_cast<volatile char*>(room);  // no compiler leaves these writes out
    for (std::size_t i = 0; i < kBytes; i += 4096) memory[i] = 1;
    return 0;
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  const GroupMemory memory = LimitGroups::of(plan_).memory();
  EXPECT_EQ(memory.killed, 1u);
  EXPECT_GE(memory.peak_bytes, 60ull << 20);
  EXPECT_THAT(memory.verdict(), HasSubstr("of 64.0 MiB"));
}

TEST_F(LimitGroupsTest, AForkBombEndsAtItsLimit) {
  plan({.processes = 8});
  if (plan_.groups.empty()) GTEST_SKIP() << "control groups for processes cannot be written to";
  const int status = run([] {
    int made = 0;
    while (made < 100) {
      const pid_t child = ::fork();
      if (child < 0) break;
      if (child == 0) {
        ::pause();
        ::_exit(0);
      }
      ++made;
    }
    return made;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_LE(WEXITSTATUS(status), 7);
  LimitGroups::of(plan_).kill();
}

TEST_F(LimitGroupsTest, AProcessPastItsFilesGetsAnError) {
  plan({.files = 16});
  const int status = run([] {
    int opened = 0;
    while (opened < 100 && ::open("/dev/null", O_RDONLY) >= 0) ++opened;
    return opened;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_LT(WEXITSTATUS(status), 16);
}

TEST(LimitsWithoutGroups, AProcessPastItsMemoryGetsNone) {
  const LimitPlan plan = plan_limits({.memory_bytes = 64ull << 20}, {}, "none");
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{plan.rlimits[0].second, plan.rlimits[0].second};
    ::setrlimit(static_cast<__rlimit_resource_t>(plan.rlimits[0].first), &limit);
    void* memory = ::mmap(nullptr, 200u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::_exit(memory == MAP_FAILED ? 7 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace fray::os
