#include "worker/task_meter.h"

#include <ctime>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fray::worker {
namespace {

constexpr std::uint64_t kShort = TaskMeter::kMeasureCpuFromNs - 1;
constexpr std::uint64_t kLong = TaskMeter::kMeasureMemoryFromNs;
constexpr auto kNotMeasured = wire::ResultHead::kNotMeasured;

void burn(std::uint64_t nanoseconds) {
  timespec start{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
  timespec now = start;
  while (static_cast<std::uint64_t>((now.tv_sec - start.tv_sec) * 1'000'000'000 + now.tv_nsec - start.tv_nsec) <
         nanoseconds) {
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  }
}

TEST(TaskMeter, MeasuresTheFirstRunOfAFunction) {
  TaskMeter meter;
  meter.begin(1);
  burn(3'000'000);
  TaskCost cost = meter.end(kShort);
  EXPECT_GE(cost.cpu_ns, 3'000'000u);
  EXPECT_LT(cost.cpu_ns, 1'000'000'000u);
  EXPECT_NE(cost.peak_memory_bytes, kNotMeasured);
}

TEST(TaskMeter, LeavesShortFunctionsAloneAndComesBackWhenTheyAreLong) {
  TaskMeter meter;
  meter.begin(1);
  meter.end(kShort);
  meter.begin(2);
  meter.end(kLong);
  meter.begin(1);
  EXPECT_EQ(meter.end(kLong).cpu_ns, kNotMeasured);
  meter.begin(1);
  EXPECT_NE(meter.end(kShort).cpu_ns, kNotMeasured);
  meter.begin(2);
  EXPECT_NE(meter.end(kShort).peak_memory_bytes, kNotMeasured);
}

TEST(TaskMeter, AFunctionIsShortOrSlowAfterItsLastRun) {
  TaskMeter meter;
  meter.begin(1);
  EXPECT_FALSE(meter.is_short() || meter.is_slow());
  meter.end(kSlowNs);
  meter.begin(1);
  EXPECT_TRUE(meter.is_slow());
  meter.end(kShort);
  meter.begin(1);
  EXPECT_TRUE(meter.is_short());
}

TEST(TaskMeter, ThePeakIsThatOfTheTaskAndNotOfAnEarlierOne) {
  constexpr std::size_t kBytes = 64u << 20;
  TaskMeter meter;
  meter.begin(1);
  // Not from the heap, which may keep what is freed.
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (std::size_t i = 0; i < kBytes; i += 4096) static_cast<volatile char*>(memory)[i] = 1;
  ASSERT_EQ(::munmap(memory, kBytes), 0);
  std::uint64_t large = meter.end(kLong).peak_memory_bytes;
  meter.begin(1);
  std::uint64_t small = meter.end(kLong).peak_memory_bytes;
  EXPECT_GE(large, small + kBytes / 2);
}

TEST(TaskMeter, CountsChildrenThatWereWaitedFor) {
  TaskMeter meter;
  meter.begin(1);
  pid_t child = ::fork();
  if (child == 0) {
    burn(30'000'000);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_GE(meter.end(kLong).cpu_ns, 25'000'000u);
}

}  // namespace
}  // namespace fray::worker
