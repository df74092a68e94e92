#include "client/tasks/timeline.h"

#include <string>

#include <gtest/gtest.h>

namespace fray::client {
namespace {

Timeline::Run run_number(std::uint64_t task) {
  Timeline::Run run;
  run.task = task;
  return run;
}

TEST(Timeline, GivesRunsInTheirOrderWithTheirNames) {
  Timeline timeline;
  timeline.add("load", run_number(1));
  timeline.add("train", run_number(2));
  timeline.add("load", run_number(3));
  auto [runs, names] = timeline.runs();
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[2].task, 3u);
  EXPECT_EQ(names[runs[0].name], "load");
  EXPECT_EQ(names[runs[1].name], "train");
  EXPECT_EQ(runs[0].name, runs[2].name);
}

TEST(Timeline, TheOldestRunsAreForgottenBeyondItsCapacity) {
  Timeline timeline;
  for (std::uint64_t task = 0; task < Timeline::kCapacity + 10; ++task) timeline.add("step", run_number(task));
  auto [runs, names] = timeline.runs();
  ASSERT_EQ(runs.size(), Timeline::kCapacity);
  EXPECT_EQ(runs.front().task, 10u);
  EXPECT_EQ(runs.back().task, Timeline::kCapacity + 9);
  EXPECT_EQ(timeline.dropped(), 10u);
}

TEST(Timeline, DifferentNamesAreBoundedByBytesAndTheNewestStay) {
  Timeline timeline;
  const std::string long_part(10'000, 'x');
  constexpr std::uint64_t kTasks = 10'000;
  for (std::uint64_t task = 0; task < kTasks; ++task) timeline.add(long_part + std::to_string(task), run_number(task));
  auto [runs, names] = timeline.runs();
  std::size_t bytes = 0;
  for (const std::string& name : names) bytes += name.size();
  EXPECT_LE(bytes, Timeline::kMostNameBytes);
  ASSERT_GT(runs.size(), 1000u);
  EXPECT_EQ(runs.size() + timeline.dropped(), kTasks);
  for (const Timeline::Run& run : runs) EXPECT_EQ(names[run.name], long_part + std::to_string(run.task));
  EXPECT_EQ(runs.back().task, kTasks - 1);
}

TEST(Timeline, AnUsualNameComesBackAfterItWasForgotten) {
  Timeline timeline;
  const std::string huge(Timeline::kMostNameBytes, 'y');
  timeline.add("step", run_number(1));
  timeline.add(huge, run_number(2));
  timeline.add("step", run_number(3));
  auto [runs, names] = timeline.runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(names[runs[0].name], "step");
}

TEST(Timeline, FailuresAreBoundedByBytes) {
  Timeline timeline;
  const std::string long_text(1u << 20, 'e');
  for (std::uint64_t task = 0; task < 1000; ++task) timeline.add_failure("step", task, false, long_text);
  std::size_t bytes = 0;
  for (const Timeline::Failure& failure : timeline.failures()) bytes += failure.bytes.size();
  EXPECT_GT(timeline.failures().size(), 100u);
  EXPECT_LE(bytes, Timeline::kMostFailureBytes);
}

}  // namespace
}  // namespace fray::client
