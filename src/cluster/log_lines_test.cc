#include "cluster/log_lines.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::cluster {
namespace {

using testing::ElementsAre;

class LogLinesTest : public testing::Test {
 protected:
  void add(std::uint32_t replica, std::uint8_t stream, const std::string& bytes, std::uint64_t missing = 0) {
    lines_.add({attempt_, of_several_, {{{replica, stream, 0}, missing, bytes}}});
  }

  std::uint32_t attempt_ = 1;
  bool of_several_ = false;
  std::vector<std::string> seen_;
  LogLines lines_{[this](const LogLine& line) { seen_.push_back(line_text(line, of_several_)); }};
};

TEST_F(LogLinesTest, a_line_comes_once_its_end_has_come_and_streams_do_not_mix) {
  add(0, 1, "out");
  add(0, 2, "error\n");
  add(0, 1, " one\nout two");
  EXPECT_THAT(seen_, ElementsAre("error\n", "out one\n"));
  lines_.finish();
  EXPECT_THAT(seen_, ElementsAre("error\n", "out one\n", "out two"));
}

TEST_F(LogLinesTest, lines_of_several_replicas_have_numbers_and_ends) {
  of_several_ = true;
  add(1, 1, "b\nrest");
  add(0, 1, "a\n");
  lines_.finish();
  EXPECT_THAT(seen_, ElementsAre("[replica-1] b\n", "[replica-0] a\n", "[replica-1] rest\n"));
}

TEST_F(LogLinesTest, another_attempt_ends_the_lines_of_the_one_before) {
  add(0, 1, "cut off");
  attempt_ = 2;
  add(0, 1, "again\n");
  EXPECT_THAT(seen_, ElementsAre("cut off", "again\n"));
}

TEST_F(LogLinesTest, what_is_missing_is_said_in_its_place) {
  add(0, 1, "before\n");
  add(0, 1, "after\n", 12);
  EXPECT_THAT(seen_, ElementsAre("before\n", "[fray: 12 bytes of this output are missing here]\n", "after\n"));
}

TEST_F(LogLinesTest, a_line_without_end_is_cut_and_not_kept_for_good) {
  for (int i = 0; i < 3; ++i) add(0, 1, std::string(1u << 19, 'x'));
  ASSERT_EQ(seen_.size(), 1u);
  EXPECT_EQ(seen_[0].size(), (1u << 20) + 1);
}

}  // namespace
}  // namespace fray::cluster
