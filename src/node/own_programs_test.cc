#include "node/own_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace fray::node {
namespace {

using testing::HasSubstr;
using Answer = OwnPrograms::Answer;

class OwnProgramsTest : public testing::Test {
 protected:
  static OwnPrograms::Words script(const std::string& line) { return {"-c", line}; }
  Result<Answer> ask(const std::string& line, std::chrono::nanoseconds patience = std::chrono::seconds(20)) {
    std::optional<Result<Answer>> answer;
    auto id = programs_.ask(script(line), patience, [&](Result<Answer> told) { answer.emplace(std::move(told)); });
    if (!id.is_ok()) return id.status();
    EXPECT_FALSE(answer) << "never from inside the call";
    turn_until([&] { return answer.has_value(); });
    return answer ? std::move(*answer) : Status(StatusCode::kInternal, "it was not answered");
  }
  template <typename Holds>
  void turn_until(Holds holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds() && std::chrono::steady_clock::now() < deadline) {
      loop_->run_once(std::chrono::milliseconds(10));
      while (auto ended = os::reap_one()) programs_.child_ended(*ended);
    }
  }

  std::unique_ptr<event::Loop> loop_ = event::Loop::create().value();
  OwnPrograms programs_{*loop_, os::spawner(), "/bin/sh"};
};

TEST_F(OwnProgramsTest, an_answer_has_both_streams_and_the_exit_code) {
  auto answer = ask("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(answer.is_ok());
  EXPECT_EQ(answer->output, "out\n");
  EXPECT_EQ(answer->errors, "err\n");
  EXPECT_EQ(answer->exit_code, 3);
  answer = ask("kill -9 $$");
  ASSERT_TRUE(answer.is_ok());
  EXPECT_EQ(answer->signal, 9);
}

TEST_F(OwnProgramsTest, who_does_not_answer_in_time_is_killed_with_its_children) {
  const std::string fifo = testing::TempDir() + "own-programs-" + std::to_string(::getpid());
  auto answer = ask("mkfifo " + fifo + "; sleep 1000 & cat " + fifo, std::chrono::milliseconds(200));
  EXPECT_EQ(answer.status().code(), StatusCode::kTimedOut);
  ::unlink(fifo.c_str());
  turn_until([] { return os::children_of_this_process().empty(); });
  EXPECT_TRUE(os::children_of_this_process().empty());
}

TEST_F(OwnProgramsTest, an_answer_without_end_is_refused) {
  EXPECT_EQ(ask("yes").status().code(), StatusCode::kResourceExhausted);
}

TEST_F(OwnProgramsTest, there_are_only_so_many_at_once_and_who_is_withdrawn_makes_room) {
  std::vector<OwnPrograms::Id> ids;
  for (std::size_t i = 0; i < OwnPrograms::kMost; ++i) {
    auto id = programs_.ask(script("exec cat /dev/zero >/dev/null"), std::chrono::hours(1),
                            [](const Result<Answer>&) { ADD_FAILURE() << "it was withdrawn"; });
    ASSERT_TRUE(id.is_ok());
    ids.push_back(*id);
  }
  EXPECT_THAT(ask("true").status().message(), HasSubstr("ask again later"));
  programs_.withdraw(ids.back());
  programs_.withdraw(ids.back());
  EXPECT_TRUE(ask("true").is_ok());
  for (OwnPrograms::Id id : ids) programs_.withdraw(id);
  turn_until([] { return os::children_of_this_process().empty(); });
  EXPECT_TRUE(os::children_of_this_process().empty());
}

TEST_F(OwnProgramsTest, a_paused_program_waits_and_loses_nothing) {
  std::size_t bytes = 0;
  bool over = false;
  OwnPrograms::Id id = 0;
  id = programs_
           .follow(
               script("head -c 1000000 /dev/zero"),
               [&](std::string_view text) {
                 if (bytes == 0) programs_.pause(id);
                 bytes += text.size();
               },
               [&](const Result<Answer>& answer) {
                 over = true;
                 EXPECT_EQ(answer.value().exit_code, 0);
               })
           .value();
  turn_until([&] { return bytes > 0; });
  const std::size_t first = bytes;
  for (int i = 0; i < 5; ++i) loop_->run_once(std::chrono::milliseconds(10));
  EXPECT_EQ(bytes, first);
  EXPECT_FALSE(over);
  programs_.go_on(id);
  turn_until([&] { return over; });
  EXPECT_EQ(bytes, 1'000'000u);
}

TEST_F(OwnProgramsTest, a_program_that_is_not_there_is_told_of) {
  OwnPrograms none(*loop_, os::spawner(), "/no/such/program");
  auto id = none.ask({"list"}, std::chrono::seconds(1), [](const Result<Answer>&) { ADD_FAILURE(); });
  EXPECT_EQ(id.status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace fray::node
