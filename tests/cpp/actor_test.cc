// Actors: typed calls in order, names, handles that travel, and what follows when one dies.
#include <signal.h>

#include "cpp/session_fixture.h"

namespace jobs {
namespace {

using ::testing::HasSubstr;

class CppActor : public InSession {};

TEST_F(CppActor, CallsRunInTheOrderInWhichTheyWereMade) {
  auto counter = fray::create_actor<Counter>(10).value_or_throw();
  std::vector<fray::ObjectRef<int>> refs;
  for (int i = 0; i < 1000; ++i) refs.push_back(counter.call(&Counter::add, 1));
  std::vector<int> counts = fray::get(refs).value_or_throw();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(counts[static_cast<std::size_t>(i)], 11 + i);
  EXPECT_EQ(fray::get(counter.call(&Counter::get)).value_or_throw(), 1010);
}

TEST_F(CppActor, ArgumentsOfConstructorAndMethodsMayBeRefs) {
  auto counter = fray::create_actor<Counter>(fray::submit(add, 1, 2)).value_or_throw();
  EXPECT_EQ(fray::get(counter.call(&Counter::add, fray::submit(add, 3, 4))).value_or_throw(), 10);
}

TEST_F(CppActor, HandleTravelsToATask) {
  auto counter = fray::create_actor<Counter>(1).value_or_throw();
  EXPECT_EQ(fray::get(fray::submit(add_through, counter, 5)).value_or_throw(), 6);
  EXPECT_EQ(fray::get(counter.call(&Counter::get)).value_or_throw(), 6);
}

TEST_F(CppActor, MethodMayReturnARefToItsOwnTask) {
  auto counter = fray::create_actor<Counter>(1).value_or_throw();
  auto inner = fray::get(counter.call(&Counter::later, 4)).value_or_throw();
  EXPECT_EQ(fray::get(inner).value_or_throw(), 5);
}

TEST_F(CppActor, NameFindsTheActorAndIsTakenOnce) {
  auto counter = fray::create_actor<Counter>({.name = "total"}, 3).value_or_throw();
  auto found = fray::find_actor<Counter>("total").value_or_throw();
  EXPECT_EQ(fray::get(found.call(&Counter::add, 1)).value_or_throw(), 4);
  EXPECT_EQ((fray::create_actor<Counter>({.name = "total"}, 0).status().code()), fray::Code::kAlreadyExists);
  auto same = fray::create_actor<Counter>({.name = "total", .get_if_exists = true}, 0).value_or_throw();
  EXPECT_EQ(fray::get(same.call(&Counter::get)).value_or_throw(), 4);
  EXPECT_EQ(fray::find_actor<Counter>("nobody").status().code(), fray::Code::kNotFound);
  EXPECT_THAT((failure(fray::create_actor<Counter>({.detached = true}, 0))), HasSubstr("needs a name"));
}

TEST_F(CppActor, WhatAMethodThrowsFailsThatCallOnly) {
  auto counter = fray::create_actor<Counter>(0).value_or_throw();
  fray::Result<int> failed = fray::get(counter.call(&Counter::fails, "not today"));
  EXPECT_EQ(failed.status().type_name(), "std::runtime_error");
  EXPECT_THAT(failure(failed), HasSubstr("not today"));
  EXPECT_EQ(fray::get(counter.call(&Counter::add, 1)).value_or_throw(), 1);
}

TEST_F(CppActor, WhatTheConstructorThrowsIsToldToEveryCall) {
  auto refuses = fray::create_actor<Refuses>().value_or_throw();
  fray::Result<int> failed = fray::get(refuses.call(&Refuses::nothing));
  EXPECT_EQ(failed.status().code(), fray::Code::kActorDied);
  EXPECT_THAT(failure(failed), HasSubstr("no instance today"));
}

TEST_F(CppActor, KilledActorIsDeadAndSaysSo) {
  auto counter = fray::create_actor<Counter>(0).value_or_throw();
  fray::get(counter.call(&Counter::add, 1)).value_or_throw();
  EXPECT_TRUE(counter.kill().is_ok());
  EXPECT_EQ(fray::get(counter.call(&Counter::get)).status().code(), fray::Code::kActorDied);
}

TEST_F(CppActor, RestartRunsTheConstructorAnew) {
  auto counter = fray::create_actor<Counter>({.max_restarts = 1}, 5).value_or_throw();
  EXPECT_EQ(fray::get(counter.call(&Counter::add, 1)).value_or_throw(), 6);
  EXPECT_EQ(fray::get(counter.call(&Counter::dies)).status().code(), fray::Code::kActorDied);
  EXPECT_EQ(fray::get(counter.call(&Counter::get)).value_or_throw(), 5);
}

TEST_F(CppActor, ConcurrentCallsMeet) {
  auto meeting = fray::create_actor<Meeting>({.max_concurrency = 3}).value_or_throw();
  std::vector<fray::ObjectRef<int>> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(meeting.call(&Meeting::meet, 3));
  EXPECT_EQ(fray::get(calls).value_or_throw().size(), 3u);
}

TEST_F(CppActor, ActorEndsWithItsLastHandle) {
  int pid = 0;
  {
    auto counter = fray::create_actor<Counter>(0).value_or_throw();
    pid = fray::get(counter.call(&Counter::pid)).value_or_throw();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  while (::kill(pid, 0) == 0) fray::get(fray::submit(nothing)).value_or_throw();
}

TEST_F(CppActor, EmptyHandleSaysSo) {
  fray::ActorHandle<Counter> empty;
  EXPECT_THAT(failure(fray::get(empty.call(&Counter::get))), HasSubstr("empty"));
}

}  // namespace
}  // namespace jobs
