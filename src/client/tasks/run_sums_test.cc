#include "client/tasks/run_sums.h"

#include <gtest/gtest.h>

namespace fray::client {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

Timeline::Run run_at(std::uint64_t start_ns, std::uint64_t duration_ns, std::int32_t pid = 1) {
  static std::uint64_t number = 0;
  Timeline::Run run;
  run.task = ++number;
  run.started_ns = start_ns;
  run.duration_ns = duration_ns;
  run.pid = pid;
  return run;
}

TEST(RunSums, OnlyWhatRanSinceIsTold) {
  Timeline timeline;
  timeline.add("load", run_at(0, kMillisecond));
  timeline.add("train", run_at(0, 100 * kMillisecond));
  wire::RunsTold told = runs_since({0, 0}, timeline);
  EXPECT_EQ(told.next, 2u);
  EXPECT_EQ(told.functions.size(), 2u);
  timeline.add("train", run_at(0, 300 * kMillisecond));
  told = runs_since({told.next, 0}, timeline);
  ASSERT_EQ(told.functions.size(), 1u);
  EXPECT_EQ(told.functions.front().name, "train");
  EXPECT_EQ(told.functions.front().ok, 1u);
  EXPECT_EQ(told.functions.front().longest_ns, 300 * kMillisecond);
  EXPECT_EQ(told.bars.size(), 1u);
  EXPECT_TRUE(runs_since({told.next, 0}, timeline).functions.empty());
  EXPECT_TRUE(runs_since({~std::uint64_t{0}, 9}, timeline).functions.empty()) << "more than there ever were";
}

TEST(RunSums, ManyShortRunsInARowAreOneBar) {
  Timeline timeline;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    timeline.add("step", run_at(i * 10'000, 8'000, static_cast<std::int32_t>(i % 2)));
  }
  const wire::RunsTold told = runs_since({0, 0}, timeline);
  EXPECT_LE(told.bars.size(), 2u * 22);  // a second, in two workers, of 50 ms each
  std::uint64_t runs = 0;
  for (const wire::RunBar& bar : told.bars) {
    runs += bar.count;
    EXPECT_LE(bar.lasting_ns, kLongestBarNs);
  }
  EXPECT_EQ(runs, 100'000u);
  EXPECT_EQ(told.functions.front().ok, 100'000u);
  EXPECT_EQ(told.left_out, 0u);
}

TEST(RunSums, LongOnesFailuresOtherFunctionsAndPausesHaveBarsOfTheirOwn) {
  Timeline timeline;
  timeline.add("step", run_at(0, 1000));
  timeline.add("step", run_at(2000, 1000));
  Timeline::Run failed = run_at(4000, 1000);
  failed.status = wire::TaskStatus::kFailed;
  failed.attempt = 2;
  timeline.add("step", failed);
  timeline.add("step", run_at(6000, 1000));
  timeline.add("other", run_at(8000, 1000));
  timeline.add("step", run_at(10'000, 20 * kMillisecond));
  timeline.add("step", run_at(21 * kMillisecond, 1000));
  timeline.add("step", run_at(40 * kMillisecond, 1000));
  const wire::RunsTold told = runs_since({0, 0}, timeline);
  ASSERT_EQ(told.bars.size(), 7u);
  EXPECT_EQ(told.bars[0].count, 2u);
  EXPECT_EQ(told.bars[0].lasting_ns, 3000u);
  EXPECT_EQ(told.bars[1].status, wire::TaskStatus::kFailed);
  EXPECT_EQ(told.bars[1].attempt, 2u);
  EXPECT_EQ(told.functions[0].failed, 1u);
}

TEST(RunSums, AnAnswerIsBoundedAndSaysWhatItLeavesOut) {
  Timeline timeline;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    timeline.add("f" + std::to_string(i), run_at(i * kMillisecond, kMillisecond, static_cast<std::int32_t>(i)));
  }
  const wire::RunsTold told = runs_since({0, 0}, timeline);
  EXPECT_EQ(told.bars.size(), kMostBars);
  EXPECT_EQ(told.left_out, 10'000 - kMostBars);
  EXPECT_EQ(told.functions.size(), kMostFunctions + 1);
  EXPECT_EQ(told.functions.back().name, kOtherFunctions);
  EXPECT_EQ(told.functions.back().ok, 10'000 - kMostFunctions);
  EXPECT_EQ(told.bars.back().started_ns, 9'999 * kMillisecond) << "the newest";
}

TEST(RunSums, RunsThatWereForgottenBeforeTheQuestionAreCounted) {
  Timeline timeline;
  for (std::uint64_t i = 0; i < Timeline::kCapacity + 10; ++i) timeline.add("step", run_at(i, 1));
  const wire::RunsTold told = runs_since({4, 0}, timeline);
  EXPECT_EQ(told.forgotten, 6u);
  EXPECT_EQ(told.next, Timeline::kCapacity + 10);
  EXPECT_EQ(told.functions.front().ok, Timeline::kCapacity);
}

TEST(RunSums, FailuresAreToldOnceWithWhatPeopleCanReadOfThem) {
  Timeline timeline;
  timeline.add_failure("step", 7, false, std::string(50'000, 'x') + "end");
  timeline.add_failure("step", 8, true, std::string("\x09\0\0\0traceback and what Python reads", 35));
  timeline.add_failure("step", 9, true, std::string("\xff\xff\xff\xff too short", 14));
  const wire::RunsTold told = runs_since({0, 0}, timeline);
  ASSERT_EQ(told.failed.size(), 3u);
  EXPECT_EQ(told.failed[0].task, 7u);
  EXPECT_LE(told.failed[0].text.size(), 2100u);
  EXPECT_TRUE(told.failed[0].text.ends_with("end"));
  EXPECT_EQ(told.failed[1].text, "traceback");
  EXPECT_EQ(told.failed[2].text, "");
  EXPECT_TRUE(runs_since({0, told.failures}, timeline).failed.empty());
}

TEST(RunSums, LongNamesAreCutAsThoseOfRunningTasks) {
  Timeline timeline;
  timeline.add(std::string(10'000, 'n'), run_at(0, 1));
  EXPECT_EQ(runs_since({0, 0}, timeline).functions.front().name.size(), kMostFunctionNameBytes);
}

}  // namespace
}  // namespace fray::client
