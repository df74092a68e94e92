// Coroutines: co_await of refs, many of them in one thread.
#include <numeric>
#include <stdexcept>

#include "cpp/session_fixture.h"

namespace jobs {
namespace {

class CppCoroutine : public InSession {};

fray::Coroutine<int> added(int a, int b) {
  fray::Result<int> sum = co_await fray::submit(add, a, b);
  co_return sum.value_or_throw();
}

fray::Coroutine<int> added_twice(int number) {
  int once = co_await added(number, number);
  co_return co_await added(once, once);
}

TEST_F(CppCoroutine, ResultOfARefIsAwaited) { EXPECT_EQ(fray::run(added(1, 2)), 3); }

TEST_F(CppCoroutine, CoroutinesAwaitEachOther) { EXPECT_EQ(fray::run(added_twice(3)), 12); }

TEST_F(CppCoroutine, ManyRunSideBySideInOneThread) {
  std::vector<fray::Coroutine<int>> many;
  for (int i = 0; i < 200; ++i) many.push_back(added_twice(i));
  std::vector<int> results = fray::run(fray::all(std::move(many)));
  for (int i = 0; i < 200; ++i) ASSERT_EQ(results[static_cast<std::size_t>(i)], 4 * i);
}

fray::Coroutine<> fails() { (co_await fray::submit(throws, "in a task")).value_or_throw(); }

TEST_F(CppCoroutine, WhatItThrowsComesOutOfRun) { EXPECT_THROW(fray::run(fails()), fray::Error); }

fray::Coroutine<fray::Code> sees_the_end(fray::Session& session) {
  auto ref = fray::submit(sleeps_for_ever);
  session.close();
  co_return (co_await ref).status().code();
}

TEST_F(CppCoroutine, ClosedSessionEndsTheWait) {
  EXPECT_EQ(fray::run(sees_the_end(session)), fray::Code::kUnavailable);
}

}  // namespace
}  // namespace jobs
