#include "queue/queue_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::queue {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class QueueTableTest : public testing::Test {
 protected:
  QueueTableTest() { (void)ask({.verb = Verb::kMake, .queue = "q"}); }

  Now now() const { return {now_, 1'000'000'000'000'000 + now_.count()}; }
  // The answers so far, by who asked; other commands are kept in `commands`.
  void collect() {
    for (Command& command : table.take_commands()) {
      if (auto* answered = std::get_if<Answered>(&command)) {
        answers[answered->ask] = std::move(*answered);
      } else {
        commands.push_back(std::move(command));
      }
    }
  }
  AskId send(Request request) {
    table.ask(++last_, std::move(request), now());
    collect();
    return last_;
  }
  Answered ask(Request request) {
    const AskId id = send(std::move(request));
    EXPECT_TRUE(answers.contains(id)) << "it waits";
    return answers[id];
  }
  Answer push(std::vector<std::string> items) {
    return ask({.verb = Verb::kPush, .queue = "q", .items = std::move(items)}).answer;
  }
  Request pop_of(std::uint32_t most = 1, Moment lease = 60s, Moment wait = 0s) {
    return {.verb = Verb::kPop, .queue = "q", .most = most, .lease_time = lease, .wait = wait};
  }
  std::vector<std::string> pop(std::uint32_t most = 1, Moment lease = 60s) { return ids(ask(pop_of(most, lease))); }
  static std::vector<std::string> ids(const Answered& answered) {
    std::vector<std::string> found;
    for (const GivenItem& given : answered.answer.given) found.push_back(given.lease_id);
    return found;
  }
  Answer end(Verb verb, std::vector<std::string> leases) {
    return ask({.verb = verb, .queue = "q", .leases = std::move(leases)}).answer;
  }
  QueueView view() { return ask({.verb = Verb::kShow, .queue = "q"}).answer.queues.at(0); }

  QueueTable table;
  std::map<AskId, Answered> answers;
  std::vector<Command> commands;
  Moment now_{1s};

 private:
  AskId last_ = 0;
};

TEST_F(QueueTableTest, a_push_that_is_sent_again_adds_nothing) {
  const Request request{.verb = Verb::kPush, .queue = "q", .caller = {"me", 1}, .items = {"a", "b"}};
  EXPECT_EQ(ask(request).answer.count, 2u);
  EXPECT_EQ(ask(request).answer.count, 2u);
  EXPECT_EQ(view().waiting, 2u);
  Request older = request;
  ask({.verb = Verb::kPush, .queue = "q", .caller = {"me", 2}, .items = {"c"}});
  EXPECT_THAT(ask(older).status.message(), HasSubstr("older than its request 2"));
  EXPECT_EQ(view().waiting, 3u);
}

TEST_F(QueueTableTest, a_pop_that_is_sent_again_gets_the_leases_that_are_still_valid) {
  push({"a", "b", "c"});
  Request request = pop_of(2, 10s);
  request.caller = {"me", 1};
  const std::vector<std::string> leases = ids(ask(request));
  ASSERT_EQ(leases.size(), 2u);
  EXPECT_EQ(ids(ask(request)), leases);
  end(Verb::kDone, {leases[0]});
  EXPECT_THAT(ids(ask(request)), ElementsAre(leases[1]));
  now_ += 11s;
  EXPECT_THAT(ids(ask(request)), IsEmpty());
  EXPECT_EQ(view().waiting, 2u);
}

TEST_F(QueueTableTest, what_is_done_twice_is_told_the_first_way_to_who_repeats_and_the_other_to_who_asks_anew) {
  push({"a"});
  const std::vector<std::string> leases = pop();
  Request done{.verb = Verb::kDone, .queue = "q", .caller = {"me", 1}, .leases = {"no lease", leases[0]}};
  EXPECT_THAT(ask(done).answer.invalid, ElementsAre("no lease"));
  EXPECT_THAT(ask(done).answer.invalid, ElementsAre("no lease"));
  done.caller.sequence = 2;
  EXPECT_THAT(ask(done).answer.invalid, ElementsAre("no lease", leases[0]));
}

TEST_F(QueueTableTest, who_waits_is_served_in_the_order_of_asking) {
  const AskId first = send(pop_of(2, 60s, 10s));
  const AskId second = send(pop_of(1, 60s, 10s));
  EXPECT_EQ(view().waiters, 2u);
  push({"a", "b", "c"});
  EXPECT_EQ(answers[first].answer.given.size(), 2u);
  EXPECT_EQ(answers[second].answer.given.size(), 1u);
  EXPECT_EQ(table.next_due(), std::nullopt);
}

TEST_F(QueueTableTest, a_wait_ends_when_it_is_over_or_a_lease_is) {
  push({"a"});
  pop(1, 5s);
  const AskId patient = send(pop_of(1, 60s, 10s));
  EXPECT_EQ(table.next_due(), now_ + 5s);
  now_ += 5s;
  table.tick(now());
  collect();
  EXPECT_EQ(answers[patient].answer.given.size(), 1u);
  const AskId unlucky = send(pop_of(1, 60s, 10s));
  EXPECT_EQ(table.next_due(), now_ + 10s);
  now_ += 10s;
  table.tick(now());
  collect();
  EXPECT_TRUE(answers[unlucky].status.is_ok());
  EXPECT_THAT(answers[unlucky].answer.given, IsEmpty());
}

TEST_F(QueueTableTest, who_left_gets_nothing) {
  const AskId left = send(pop_of(1, 60s, 10s));
  table.withdraw(left);
  push({"a"});
  EXPECT_FALSE(answers.contains(left));
  EXPECT_EQ(view().waiting, 1u);
}

TEST_F(QueueTableTest, a_client_that_asks_anew_does_not_wait_twice) {
  Request request = pop_of(1, 60s, 10s);
  request.caller = {"me", 1};
  const AskId first = send(request);
  const AskId again = send(request);
  EXPECT_EQ(answers[first].status.code(), StatusCode::kCancelled);
  push({"a"});
  EXPECT_EQ(answers[again].answer.given.size(), 1u);
}

TEST_F(QueueTableTest, one_answer_holds_what_fits_and_one_item_at_least) {
  push({std::string(kMostItemBytes, 'x'), "small", "small"});
  EXPECT_EQ(pop(10).size(), 1u);
  EXPECT_EQ(pop(10).size(), 2u);
}

TEST_F(QueueTableTest, a_purge_leaves_what_is_leased_unless_that_is_asked_for) {
  push({"a", "b", "c"});
  const std::vector<std::string> leases = pop();
  EXPECT_EQ(ask({.verb = Verb::kPurge, .queue = "q"}).answer.count, 2u);
  EXPECT_EQ(view().leased, 1u);
  EXPECT_EQ(ask({.verb = Verb::kPurge, .queue = "q", .leased_too = true}).answer.count, 1u);
  EXPECT_THAT(end(Verb::kDone, leases).invalid, ElementsAre(leases[0]));
  EXPECT_EQ(view().bytes, 0u);
}

TEST_F(QueueTableTest, who_waits_at_a_queue_that_is_removed_is_told) {
  const AskId waiting = send(pop_of(1, 60s, 10s));
  ask({.verb = Verb::kRemove, .queue = "q"});
  EXPECT_EQ(answers[waiting].status.code(), StatusCode::kNotFound);
  EXPECT_EQ(ask(pop_of()).status.code(), StatusCode::kNotFound);
  ask({.verb = Verb::kMake, .queue = "q"});
  EXPECT_EQ(view().waiting, 0u);
}

TEST_F(QueueTableTest, a_lease_of_another_queue_is_not_valid) {
  ask({.verb = Verb::kMake, .queue = "other"});
  push({"a"});
  const std::vector<std::string> leases = pop();
  EXPECT_THAT(ask({.verb = Verb::kDone, .queue = "other", .leases = leases}).answer.invalid, ElementsAre(leases[0]));
  EXPECT_EQ(view().leased, 1u);
}

TEST_F(QueueTableTest, names_that_no_path_can_have_are_refused) {
  for (const char* name : {"", ".", "..", "-x", "a/b", "a b", "a\nb", "\xC3\xA4"}) {
    const Status status = ask({.verb = Verb::kMake, .queue = name}).status;
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_FALSE(ask({.verb = Verb::kMake, .queue = std::string(101, 'a')}).status.is_ok());
  EXPECT_TRUE(ask({.verb = Verb::kMake, .queue = std::string(100, 'a')}).status.is_ok());
  EXPECT_TRUE(ask({.verb = Verb::kMake, .queue = "_A.b-9"}).status.is_ok());
}

TEST_F(QueueTableTest, clients_that_ask_no_more_are_forgotten) {
  ask({.verb = Verb::kPush, .queue = "q", .caller = {"old", 1}, .items = {"a"}});
  now_ += 8min;
  ask({.verb = Verb::kPush, .queue = "q", .caller = {"new", 1}, .items = {"a"}});
  EXPECT_EQ(table.memory_count(), 2u);
  now_ += 4min;
  view();
  EXPECT_EQ(table.memory_count(), 1u);
}

TEST_F(QueueTableTest, a_clock_that_was_set_back_while_the_node_was_away_lengthens_no_lease) {
  push({"a"});
  pop(1, 10s);
  Kept kept;
  for (const Command& command : commands) {
    if (const auto* queue = std::get_if<KeepQueue>(&command)) kept.queues.push_back(*queue);
    if (const auto* item = std::get_if<KeepItem>(&command)) {
      kept.items.push_back({item->queue, item->item, item->bytes.size()});
    }
    if (const auto* lease = std::get_if<KeepLease>(&command)) kept.leases.push_back(*lease);
    if (const auto* next = std::get_if<KeepNext>(&command)) kept.next = next->next;
  }
  QueueTable other;
  other.restore(kept, {now_, now().unix_ns - Moment(1h).count()});
  now_ += 10s;
  other.ask(1, {.verb = Verb::kShow, .queue = "q"}, now());
  const std::vector<Command> told = other.take_commands();
  EXPECT_EQ(std::get<Answered>(told.back()).answer.queues.at(0).waiting, 1u);
}

}  // namespace
}  // namespace fray::queue
