#include "dashboard/history.h"

#include <cmath>

#include <gtest/gtest.h>

namespace fray::dashboard {
namespace {

History::Sample sample_at(double time, double value) {
  History::Sample sample;
  sample.time = time;
  sample.values.fill(value);
  return sample;
}

TEST(HistoryTest, half_seconds_are_given_as_they_were) {
  History history;
  for (int i = 0; i < 10; ++i) history.add(sample_at(1000 + 0.5 * i, i));
  const History::Columns rows = history.columns(600, 1005);
  EXPECT_EQ(rows.step, 0.5);
  ASSERT_EQ(rows.times.size(), 9u) << "the last half second is not over";
  EXPECT_EQ(rows.times.front(), 1000.0);
  ASSERT_EQ(rows.columns.size(), History::kFields.size());
  EXPECT_EQ(rows.columns.front().at(3), 3.0);
}

TEST(HistoryTest, what_is_older_is_a_mean_of_what_there_was) {
  History history;
  for (int i = 0; i < 40; ++i) history.add(sample_at(1000 + 0.5 * i, i < 10 ? 2 : 6));
  const History::Columns rows = history.columns(3600, 1020);
  EXPECT_EQ(rows.step, 5.0);
  ASSERT_GE(rows.times.size(), 3u);
  EXPECT_EQ(rows.times.front(), 1000.0);
  EXPECT_EQ(rows.columns.front().at(0), 2.0);
  EXPECT_EQ(rows.columns.front().at(1), 6.0);
}

TEST(HistoryTest, time_that_nobody_looked_at_is_a_row_of_nothing) {
  History history;
  history.add(sample_at(1000, 1));
  history.add(sample_at(1000.5, 1));
  history.add(sample_at(1100, 1));
  history.add(sample_at(1100.5, 1));
  const History::Columns rows = history.columns(600, 1101);
  ASSERT_EQ(rows.times.size(), 4u);
  EXPECT_EQ(rows.times[2], 1001.0);
  for (const auto& column : rows.columns) EXPECT_TRUE(std::isnan(column[2]));
  EXPECT_FALSE(std::isnan(rows.columns.front()[3]));
}

TEST(HistoryTest, it_is_bounded_and_keeps_the_newest) {
  History history;
  for (int i = 0; i < 400'000; ++i) history.add(sample_at(0.5 * i, i));
  EXPECT_LE(history.columns(600, 200'000).times.size(), 1201u);
  EXPECT_LE(history.columns(7200, 200'000).times.size(), 1441u);
  EXPECT_LE(history.columns(86'400, 200'000).times.size(), 1441u);
  EXPECT_GT(history.columns(86'400, 200'000).times.back(), 199'000.0);
}

}  // namespace
}  // namespace fray::dashboard
