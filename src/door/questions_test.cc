#include "door/questions.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fray::door {
namespace {

using wire::ControlType;

Answer answer_of(const std::string& body) { return {ControlType::kStatusReply, body, {}}; }

TEST(QuestionsTest, EachAnswerGoesToItsOwnQuestion) {
  Questions questions;
  const Ticket first = questions.ask();
  const Ticket second = questions.ask();
  EXPECT_NE(first, second);
  EXPECT_TRUE(questions.answered(second, answer_of("two")));
  EXPECT_FALSE(questions.is_answered(first));
  ASSERT_TRUE(questions.is_answered(second));
  EXPECT_EQ(questions.take(second).body, "two");
  EXPECT_TRUE(questions.answered(first, answer_of("one")));
  EXPECT_EQ(questions.take(first).body, "one");
  EXPECT_EQ(questions.size(), 0u);
}

TEST(QuestionsTest, WhatNobodyAskedIsRefused) {
  Questions questions;
  EXPECT_FALSE(questions.answered(0, answer_of("")));
  const Ticket ticket = questions.ask();
  EXPECT_FALSE(questions.answered(ticket + 1, answer_of("")));
  EXPECT_TRUE(questions.answered(ticket, answer_of("the answer")));
  EXPECT_FALSE(questions.answered(ticket, answer_of("a second one")));
  EXPECT_EQ(questions.take(ticket).body, "the answer");
  EXPECT_FALSE(questions.answered(ticket, answer_of("a third one")));
  EXPECT_EQ(questions.size(), 0u);
}

TEST(QuestionsTest, WhatIsGivenToNobodyIsGivenBackOnceWheneverItComes) {
  Questions questions;
  std::vector<std::string> back;
  const auto give_back = [&](Answer& answer) { back.push_back(answer.body); };
  const Ticket early = questions.ask(give_back);
  const Ticket late = questions.ask(give_back);
  const Ticket taken = questions.ask(give_back);
  EXPECT_TRUE(questions.answered(early, answer_of("before it was withdrawn")));
  questions.withdraw(early);
  EXPECT_EQ(back, (std::vector<std::string>{"before it was withdrawn"}));
  questions.withdraw(late);
  EXPECT_FALSE(questions.is_answered(late));
  EXPECT_EQ(back.size(), 1u);
  EXPECT_TRUE(questions.answered(late, answer_of("after it was withdrawn")));
  EXPECT_EQ(back.size(), 2u);
  EXPECT_TRUE(questions.answered(taken, answer_of("")));
  questions.take(taken);
  for (Ticket ticket : {early, late, taken}) questions.withdraw(ticket);
  EXPECT_EQ(back.size(), 2u);
  EXPECT_EQ(questions.size(), 0u);
}

TEST(QuestionsTest, NothingIsKeptOfQuestionsThatNobodyAnswersAnyMore) {
  Questions questions;
  int back = 0;
  const Ticket withdrawn = questions.ask([&](Answer&) { ++back; });
  const Ticket waiting = questions.ask([&](Answer&) { ++back; });
  const Ticket answered = questions.ask([&](Answer&) { ++back; });
  questions.withdraw(withdrawn);
  EXPECT_TRUE(questions.answered(answered, answer_of("")));
  questions.end();
  questions.withdraw(waiting);
  questions.withdraw(answered);
  EXPECT_EQ(back, 1) << "only what had come is given back";
  EXPECT_EQ(questions.size(), 0u);
}

TEST(QuestionsTest, GivingBackMayAskAgain) {
  Questions questions;
  Ticket next = 0;
  const Ticket ticket = questions.ask([&](Answer&) { next = questions.ask(); });
  questions.withdraw(ticket);
  EXPECT_TRUE(questions.answered(ticket, answer_of("")));
  EXPECT_NE(next, 0u);
  EXPECT_EQ(questions.size(), 1u);
}

}  // namespace
}  // namespace fray::door
