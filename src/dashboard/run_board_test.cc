#include "dashboard/run_board.h"

#include <gtest/gtest.h>

namespace fray::dashboard {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

constexpr auto no_process = [](std::int32_t) -> ProcessId { return 0; };

wire::RunSums sums_of(const std::string& name, std::uint64_t ok, std::uint64_t ns) {
  wire::RunSums sums;
  sums.name = name;
  sums.ok = ok;
  sums.total_ns = ok * ns;
  sums.longest_ns = ns;
  sums.times = {{wire::time_bucket(ns), static_cast<std::uint32_t>(ok)}};
  return sums;
}

wire::RunsTold told_bars(std::uint32_t count, std::uint64_t first_task = 1) {
  wire::RunsTold told;
  told.functions = {sums_of("step", count, kSecond)};
  for (std::uint32_t i = 0; i < count; ++i) {
    wire::RunBar bar;
    bar.pid = 100 + static_cast<std::int32_t>(i % 2);
    bar.task = first_task + i;
    bar.started_ns = (first_task + i) * kSecond;
    told.bars.push_back(bar);
  }
  return told;
}

TEST(RunBoardTest, sums_of_several_clients_are_one_row) {
  RunBoard board;
  wire::RunsTold told;
  told.functions = {sums_of("step", 3, kSecond)};
  board.told(1, told, true, no_process);
  told.functions.front().failed = 2;
  board.told(2, told, true, no_process);
  ASSERT_EQ(board.functions().size(), 1u);
  const FunctionRow& row = board.functions().front();
  EXPECT_EQ(row.sums.ok, 6u);
  EXPECT_EQ(row.sums.failed, 2u);
  EXPECT_EQ(row.sums.total_ns, 6 * kSecond);
  EXPECT_EQ(board.ended(), 8u);
  EXPECT_EQ(board.failed(), 2u);
}

TEST(RunBoardTest, percentiles_are_within_a_tenth) {
  RunBoard board;
  wire::RunsTold told;
  told.functions = {sums_of("step", 90, 10'000'000)};
  told.functions.front().times.emplace_back(wire::time_bucket(2 * kSecond), 10);
  told.functions.front().longest_ns = 2 * kSecond;
  board.told(1, told, true, no_process);
  const FunctionRow& row = board.functions().front();
  EXPECT_NEAR(row.percentile(0.5), 10e6, 1e6);
  EXPECT_NEAR(row.percentile(0.99), 2e9, 2e8);
  EXPECT_EQ(FunctionRow{}.percentile(0.5), 0);
}

TEST(RunBoardTest, a_function_tells_how_many_runs_were_shorter_than_powers_of_two) {
  FunctionRow row;
  row.name = "step";
  for (int octave : {12, 20, 20, 38}) ++row.times[wire::time_bucket((std::uint64_t{1} << octave) - 1)];
  ++row.times[wire::time_bucket(std::uint64_t{1} << 20)];
  EXPECT_EQ(row.shorter_than_octave(11), 0u);
  EXPECT_EQ(row.shorter_than_octave(12), 1u);
  EXPECT_EQ(row.shorter_than_octave(20), 3u);
  EXPECT_EQ(row.shorter_than_octave(21), 4u);
  EXPECT_EQ(row.shorter_than_octave(38), 5u);
  FunctionRow both;
  both.add(row);
  both.add(row);
  EXPECT_EQ(both.shorter_than_octave(38), 10u);
}

TEST(RunBoardTest, every_time_lies_in_its_bucket) {
  for (std::uint64_t ns = 1; ns < (std::uint64_t{1} << 44); ns = ns * 9 / 8 + 1) {
    const auto middle = static_cast<double>(wire::time_of_bucket(wire::time_bucket(ns)));
    if (ns >= 1024) EXPECT_NEAR(middle, static_cast<double>(ns), 0.13 * static_cast<double>(ns)) << ns;
    EXPECT_LE(wire::time_bucket(ns), wire::time_bucket(ns + 1));
  }
  EXPECT_EQ(wire::time_bucket(~std::uint64_t{0}), wire::kTimeBuckets - 1);
}

TEST(RunBoardTest, what_ran_before_somebody_looked_is_counted_and_is_no_rate) {
  RunBoard board;
  wire::RunsTold told;
  told.functions = {sums_of("step", 100, 1000)};
  board.told(1, told, false, no_process);
  board.tick();
  EXPECT_EQ(board.ended(), 100u);
  EXPECT_EQ(board.per_second(), 0.0);
  board.told(1, told, true, no_process);
  board.tick();
  EXPECT_GT(board.per_second(), 0.0);
  EXPECT_GT(board.functions().front().per_second(), 0.0);
  for (int i = 0; i < 20; ++i) board.tick();
  EXPECT_EQ(board.per_second(), 0.0);
  EXPECT_EQ(board.functions().front().per_second(), 0.0);
}

TEST(RunBoardTest, bars_are_told_after_a_place_and_what_is_left_out_is_counted) {
  RunBoard board;
  board.told(1, told_bars(10), true, no_process);
  RunBoard::Slice slice = board.bars_after(0, 100);
  EXPECT_EQ(slice.bars.size(), 10u);
  EXPECT_EQ(slice.next, 10u);
  EXPECT_EQ(slice.left_out, 0u);
  EXPECT_TRUE(board.bars_after(slice.next, 100).bars.empty());
  slice = board.bars_after(2, 3);
  ASSERT_EQ(slice.bars.size(), 3u);
  EXPECT_EQ(slice.bars.front().run.task, 8u) << "the newest";
  EXPECT_EQ(slice.left_out, 5u);
  wire::RunsTold many = told_bars(1, 11);
  many.left_out = 1000;
  board.told(1, many, true, no_process);
  EXPECT_EQ(board.bars_after(10, 100).left_out, 1000u);
  EXPECT_EQ(board.bars_after(~std::uint64_t{0}, 100).bars.size(), 0u);
}

TEST(RunBoardTest, bars_are_bounded_and_the_newest_stay) {
  RunBoard board;
  for (std::uint64_t i = 0; i < 25; ++i) board.told(1, told_bars(4000, 1 + i * 4000), true, no_process);
  const RunBoard::Slice slice = board.bars_after(0, RunBoard::kMostBars * 2);
  EXPECT_EQ(slice.bars.size(), RunBoard::kMostBars);
  EXPECT_EQ(slice.next, 100'000u);
  EXPECT_EQ(slice.left_out, 20'000u);
  EXPECT_EQ(slice.bars.back().run.task, 100'000u);
  EXPECT_EQ(board.bars_after(10'000, RunBoard::kMostBars).left_out, 10'000u);
}

TEST(RunBoardTest, functions_beyond_the_bound_are_one) {
  RunBoard board;
  for (std::size_t i = 0; i < 2 * RunBoard::kMostFunctions; ++i) {
    wire::RunsTold told;
    told.functions = {sums_of("f" + std::to_string(i), 1, 1000)};
    board.told(1, told, true, no_process);
  }
  EXPECT_EQ(board.functions().size(), RunBoard::kMostFunctions);
  EXPECT_EQ(board.functions().back().name, RunBoard::kOthers);
  EXPECT_EQ(board.ended(), 2 * RunBoard::kMostFunctions);
}

TEST(RunBoardTest, a_worker_whose_number_is_taken_again_is_another_row) {
  RunBoard board;
  const std::uint32_t first = board.worker_number(100, 7);
  EXPECT_EQ(board.worker_number(100, 7), first);
  EXPECT_EQ(board.worker_number(100, 0), first) << "it has ended meanwhile";
  EXPECT_NE(board.worker_number(100, 9), first);
}

TEST(RunBoardTest, a_bar_of_a_function_that_was_not_told_is_passed_over) {
  RunBoard board;
  wire::RunsTold told = told_bars(2);
  told.bars.front().function = 5;
  told.functions.front().times.emplace_back(255, 1);
  board.told(1, told, true, no_process);
  EXPECT_EQ(board.bars_after(0, 10).bars.size(), 1u);
}

TEST(RunBoardTest, what_is_unfinished_is_as_each_client_last_said) {
  RunBoard board;
  const ActorId actor{1, 2, 3};
  wire::RunsTold told;
  told.unfinished = 10;
  told.calls = {{actor, 4}};
  board.told(1, told, true, no_process);
  board.told(2, told, true, no_process);
  EXPECT_EQ(board.unfinished(), 20u);
  EXPECT_EQ(board.calls_of(actor), 8u);
  board.client_left(1);
  EXPECT_EQ(board.unfinished(), 10u);
  EXPECT_EQ(board.calls_of(actor), 4u);
}

TEST(RunBoardTest, a_task_is_found_with_its_attempts_and_its_failure) {
  RunBoard board;
  wire::RunsTold told = told_bars(1, 42);
  told.bars.front().status = wire::TaskStatus::kRetry;
  told.bars.push_back(told.bars.front());
  told.bars.back().attempt = 1;
  told.bars.back().status = wire::TaskStatus::kFailed;
  told.failed = {{42, "ValueError: no"}};
  board.told(1, told, true, no_process);
  EXPECT_EQ(board.runs_of(1, 42).size(), 2u);
  EXPECT_TRUE(board.runs_of(2, 42).empty());
  ASSERT_NE(board.failure_of(1, 42), nullptr);
  EXPECT_EQ(*board.failure_of(1, 42), "ValueError: no");
  EXPECT_EQ(board.failure_of(2, 42), nullptr);
}

}  // namespace
}  // namespace fray::dashboard
