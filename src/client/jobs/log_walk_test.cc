#include "client/jobs/log_walk.h"

#include <gtest/gtest.h>

namespace fray::client {
namespace {

wire::JobLogOpened opened(std::uint32_t attempt, std::uint32_t replicas = 1) {
  wire::JobLogOpened answer;
  answer.id = "train-1";
  answer.attempt = attempt;
  for (std::uint32_t replica = 0; attempt > 0 && replica < replicas; ++replica) {
    answer.cursors.push_back({replica, 1, 0});
    answer.cursors.push_back({replica, 2, 0});
  }
  return answer;
}

wire::JobLogPieces pieces(std::uint32_t newest, std::vector<LogPiece> read, bool job_ended = false) {
  wire::JobLogPieces answer;
  answer.newest = newest;
  answer.ended = read.empty();
  answer.job_ended = job_ended;
  answer.pieces = std::move(read);
  return answer;
}

TEST(LogWalkTest, it_asks_for_what_follows_the_pieces_that_came) {
  LogWalk walk({.id = "train"}, true);
  ASSERT_TRUE(walk.has_to_open());
  ASSERT_TRUE(walk.opened(opened(1, 2)).is_ok());
  EXPECT_EQ(walk.to_read().id, "train-1");
  auto batch = walk.read(pieces(1, {{{1, 2, 10}, 10, "four"}}));
  ASSERT_TRUE(batch.is_ok());
  EXPECT_TRUE(batch->of_several);
  EXPECT_EQ(batch->attempt, 1u);
  EXPECT_EQ(walk.to_read().cursors[3].offset, 14u);
  EXPECT_FALSE(walk.is_over());
}

TEST(LogWalkTest, an_attempt_is_read_to_its_end_before_the_newest_one_is_opened_whole) {
  LogWalk walk({.id = "train", .tail_lines = 3}, true);
  ASSERT_TRUE(walk.opened(opened(1)).is_ok());
  ASSERT_TRUE(walk.read(pieces(3, {{{0, 1, 0}, 0, "x"}})).is_ok());
  EXPECT_FALSE(walk.has_to_open());
  ASSERT_TRUE(walk.read(pieces(3, {})).is_ok());
  ASSERT_TRUE(walk.has_to_open());
  EXPECT_EQ(walk.to_open().id, "train-1");
  EXPECT_EQ(walk.to_open().attempt, 0u);
  EXPECT_EQ(walk.to_open().tail_lines, wire::OpenJobLog::kAll);
  ASSERT_TRUE(walk.opened(opened(3)).is_ok());
  ASSERT_TRUE(walk.read(pieces(3, {}, true)).is_ok());
  EXPECT_TRUE(walk.is_over());
}

TEST(LogWalkTest, the_end_of_the_job_is_no_end_while_a_newer_attempt_is_unread) {
  LogWalk walk({.id = "train"}, true);
  ASSERT_TRUE(walk.opened(opened(1)).is_ok());
  ASSERT_TRUE(walk.read(pieces(2, {}, true)).is_ok());
  EXPECT_FALSE(walk.is_at_end());
  ASSERT_TRUE(walk.has_to_open());
  ASSERT_TRUE(walk.opened(opened(2)).is_ok());
  ASSERT_TRUE(walk.read(pieces(2, {}, true)).is_ok());
  EXPECT_TRUE(walk.is_at_end());
}

TEST(LogWalkTest, an_attempt_that_was_chosen_is_read_alone_and_to_its_end) {
  LogWalk walk({.id = "train", .attempt = 2}, true);
  ASSERT_TRUE(walk.opened(opened(2)).is_ok());
  ASSERT_TRUE(walk.read(pieces(3, {{{0, 1, 0}, 0, "x"}})).is_ok());
  EXPECT_FALSE(walk.is_over());
  ASSERT_TRUE(walk.read(pieces(3, {})).is_ok());
  EXPECT_TRUE(walk.is_over());
  EXPECT_TRUE(walk.is_at_end());
  EXPECT_FALSE(walk.has_to_open());
}

TEST(LogWalkTest, who_does_not_follow_reads_what_is_there) {
  LogWalk walk({.id = "train"}, false);
  ASSERT_TRUE(walk.opened(opened(1)).is_ok());
  ASSERT_TRUE(walk.read(pieces(1, {{{0, 1, 0}, 0, "x"}})).is_ok());
  EXPECT_FALSE(walk.is_over());
  ASSERT_TRUE(walk.read(pieces(1, {})).is_ok());
  EXPECT_TRUE(walk.is_over());
}

TEST(LogWalkTest, a_job_that_ends_before_its_first_attempt_has_no_output) {
  LogWalk walk({.id = "train"}, true);
  ASSERT_TRUE(walk.opened(opened(0)).is_ok());
  ASSERT_TRUE(walk.read(pieces(0, {}, true)).is_ok());
  EXPECT_TRUE(walk.is_over());
}

TEST(LogWalkTest, what_the_node_refuses_is_told) {
  LogWalk walk({.id = "train"}, true);
  wire::JobLogOpened refused;
  refused.code = StatusCode::kNotFound;
  EXPECT_EQ(walk.opened(refused).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace fray::client
