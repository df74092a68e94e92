#include "http/job_log.h"

#include <gtest/gtest.h>

#include "http/http_test_world.h"

namespace fray::http {
namespace {

class JobLogTest : public testing::Test {
 protected:
  JobLogTest() { node_.jobs["a"].spec.id = "a"; }

  std::unique_ptr<JobLog> log(LogPlace place = {}) { return std::make_unique<NodeJobLog>(*loop_, node_, "a", place); }
  // Turns the loop until the callback was called.
  static std::string text_of(const LogPieces& pieces) {
    std::string text;
    for (const wire::LogPiece& piece : pieces.pieces) text += piece.bytes;
    return text;
  }
  void turn(const bool& done) {
    for (int i = 0; i < 1000 && !done; ++i) loop_->run_once(std::chrono::milliseconds(20));
  }
  // What a reader gets who reads to the end.
  std::string read_to_end(JobLog& log) {
    std::string text;
    bool over = false;
    std::function<void(Result<LogPieces>)> more = [&](Result<LogPieces> pieces) {
      ASSERT_TRUE(pieces.is_ok()) << pieces.status().message();
      text += text_of(*pieces);
      over = pieces->ended;
      if (!over) log.next(true, more);
    };
    log.next(true, more);
    turn(over);
    return text;
  }

  std::unique_ptr<event::Loop> loop_ = event::Loop::create().value();
  FakeNode node_;
};

TEST_F(JobLogTest, what_was_written_already_comes_later_than_the_call_that_asks_for_it) {
  node_.print("a", "one\n");
  auto reader = log();
  bool called = false;
  reader->next(false, [&](Result<LogPieces> pieces) {
    called = true;
    EXPECT_EQ(text_of(*pieces), "one\n");
  });
  EXPECT_FALSE(called) << "else a long log would hold up whoever else the loop serves";
  turn(called);
  EXPECT_TRUE(called);
}

TEST_F(JobLogTest, a_callback_may_be_the_end_of_its_log_whether_it_comes_at_once_or_later) {
  for (const bool at_once : {true, false}) {
    if (at_once) node_.print("a", "one\n");
    auto reader = log({0, 1, at_once ? 0u : 4u});
    bool gone = false;
    reader->next(true, [&](Result<LogPieces>) {
      reader.reset();
      gone = true;
    });
    loop_->run_once(std::chrono::milliseconds(20));
    if (!at_once) node_.print("a", "two\n");
    turn(gone);
    EXPECT_TRUE(gone);
  }
}

TEST_F(JobLogTest, who_leaves_is_not_called_and_the_node_forgets_the_question) {
  for (const bool asked : {false, true}) {
    auto reader = log();
    reader->next(true, [](Result<LogPieces>) { FAIL() << "nobody is there"; });
    if (asked) loop_->run_once(std::chrono::milliseconds(20));
    EXPECT_EQ(node_.readers.size(), asked ? 1u : 0u);
    reader.reset();
    EXPECT_TRUE(node_.readers.empty());
  }
  node_.print("a", "nobody reads this\n");
  loop_->run_once(std::chrono::milliseconds(0));
}

TEST_F(JobLogTest, it_goes_on_from_attempt_to_attempt_to_the_jobs_end) {
  node_.jobs["a"].attempt = 0;  // none was started yet
  auto reader = log();
  loop_->after(std::chrono::milliseconds(1), [&] {
    node_.try_again("a");
    node_.print("a", "first\n");
    loop_->after(std::chrono::milliseconds(100), [&] {
      node_.try_again("a");
      node_.print("a", "second\n");
      node_.end("a", JobState::kFailed);
    });
  });
  EXPECT_EQ(read_to_end(*reader), "first\nsecond\n");
}

TEST_F(JobLogTest, who_reads_behind_an_attempt_that_has_ended_gets_the_last_one_after_the_end_of_the_job) {
  node_.print("a", "first\n");
  auto reader = log();
  std::string text;
  bool told = false;
  reader->next(true, [&](Result<LogPieces> pieces) {
    text = text_of(*pieces);
    told = true;
  });
  turn(told);
  node_.try_again("a");
  node_.print("a", "second\n");
  node_.end("a", JobState::kFailed);
  EXPECT_EQ(text + read_to_end(*reader), "first\nsecond\n");
}

TEST_F(JobLogTest, an_attempt_that_was_chosen_is_read_alone_and_to_its_end) {
  node_.jobs["a"].attempt = 0;
  for (const char* text : {"first\n", "second\n"}) {
    node_.try_again("a");
    node_.print("a", text);
  }
  auto reader = log({.attempt = 1});
  EXPECT_EQ(read_to_end(*reader), "first\n") << "though the job goes on";
  LogPlace none;
  none.attempt = 7;
  auto of_none = log(none);
  bool told = false;
  of_none->next(true, [&](Result<LogPieces> pieces) {
    EXPECT_EQ(pieces.status().code(), StatusCode::kNotFound);
    told = true;
  });
  turn(told);
  EXPECT_TRUE(told);
}

TEST_F(JobLogTest, a_job_or_a_replica_that_is_not_there_is_not_found) {
  NodeJobLog no_job(*loop_, node_, "b", {});
  auto no_replica = log({7, 1, 0});
  int told = 0;
  const auto not_found = [&](Result<LogPieces> pieces) {
    EXPECT_EQ(pieces.status().code(), StatusCode::kNotFound);
    ++told;
  };
  no_job.next(true, not_found);
  no_replica->next(true, not_found);
  bool both = false;
  for (int i = 0; i < 100 && !(both = told == 2); ++i) loop_->run_once(std::chrono::milliseconds(20));
  EXPECT_TRUE(both);
}

}  // namespace
}  // namespace fray::http
