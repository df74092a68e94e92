// Tasks: submit, get, wait, as_completed, cancel; refs among arguments and results; options.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <numeric>
#include <set>

#include <unistd.h>

#include "cpp/session_fixture.h"

namespace jobs {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class CppTask : public InSession {};

TEST_F(CppTask, ResultIsWhatTheFunctionReturns) { EXPECT_EQ(fray::get(fray::submit(add, 40, 2)).value_or_throw(), 42); }

TEST_F(CppTask, RunsInAnotherProcessInTheSameFolder) {
  EXPECT_NE(fray::get(fray::submit(parent)).value_or_throw(), ::getppid());
  EXPECT_EQ(fray::get(fray::submit(working_folder)).value_or_throw(), working_folder());
}

TEST_F(CppTask, RefAsArgumentIsItsValue) {
  fray::ObjectRef<int> sum = fray::submit(add, 1, 2);
  EXPECT_EQ(fray::get(fray::submit(add, sum, fray::submit(add, 3, 4))).value_or_throw(), 10);
}

TEST_F(CppTask, RefParameterGetsTheRefItself) {
  EXPECT_EQ(fray::get(fray::submit(later, fray::submit(add, 1, 2))).value_or_throw(), 4);
}

TEST_F(CppTask, RefsInsideAResultCanBeGot) {
  auto refs = fray::get(fray::submit(squares, 5)).value_or_throw();
  EXPECT_THAT(fray::get(refs).value_or_throw(), ::testing::ElementsAre(0, 1, 4, 9, 16));
}

TEST_F(CppTask, TasksThatWaitForTheirOwnTasksNeedNoFurtherCpus) {
  EXPECT_EQ(fray::get(fray::submit(nested, 5)).value_or_throw(), 32);
}

TEST_F(CppTask, FunctionWithoutResultEndsWithNothing) { EXPECT_TRUE(fray::get(fray::submit(nothing)).is_ok()); }

TEST_F(CppTask, ThousandsInFlightComeBackInOrder) {
  std::vector<fray::ObjectRef<int>> refs;
  for (int i = 0; i < 5000; ++i) refs.push_back(fray::submit(add, i, 1));
  std::vector<int> values = fray::get(refs).value_or_throw();
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i + 1);
}

// What the program spends on three thousand of these tasks, at best.
template <typename Submit>
std::clock_t cost_of(Submit&& submit) {
  std::clock_t least = std::numeric_limits<std::clock_t>::max();
  for (int round = 0; round < 4; ++round) {
    const std::clock_t begin = std::clock();
    std::vector<fray::ObjectRef<int>> refs;
    for (int i = 0; i < 3000; ++i) refs.push_back(submit(i));
    EXPECT_EQ(fray::get(refs).value_or_throw().back(), 3000);
    least = std::min(least, std::clock() - begin);
  }
  return least;
}

TEST_F(CppTask, ShortTasksWithOptionsAreSentSeveralAtATimeAsThoseWithoutAre) {
  const fray::TaskOptions options{.max_retries = 1};
  const std::clock_t without = cost_of([](int i) { return fray::submit(add, i, 1); });
  EXPECT_LT(cost_of([&](int i) { return fray::submit(options, add, i, 1); }), 4 * without);
}

TEST_F(CppTask, PutValueIsTakenByItsRef) {
  fray::ObjectRef<int> two = fray::put(2);
  EXPECT_EQ(fray::get(two).value_or_throw(), 2);
  EXPECT_EQ(fray::get(fray::submit(add, two, two)).value_or_throw(), 4);
}

TEST_F(CppTask, WaitSplitsReadyFromOthers) {
  std::vector<fray::ObjectRef<void>> refs{fray::submit(sleeps_for_ever), fray::submit(nothing)};
  auto split = fray::wait(refs, 1).value_or_throw();
  ASSERT_EQ(split.ready.size(), 1u);
  EXPECT_EQ(split.ready.front(), refs[1]);
  ASSERT_EQ(split.others.size(), 1u);
  auto none = fray::wait(split.others, 1, 50ms).value_or_throw();
  EXPECT_TRUE(none.ready.empty());
  EXPECT_FALSE(fray::wait(refs, 3).is_ok());
  EXPECT_TRUE(fray::cancel(refs[0], true).value_or_throw());
}

TEST_F(CppTask, AsCompletedGivesEachRefOnce) {
  std::vector<fray::ObjectRef<int>> refs;
  for (int i = 0; i < 100; ++i) refs.push_back(fray::submit(add, i, 0));
  std::multiset<int> seen;
  for (const auto& done : fray::as_completed(refs)) seen.insert(fray::get(done).value_or_throw());
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), 4950);
}

TEST_F(CppTask, GetGivesUpWhenTheTimeIsOver) {
  auto ref = fray::submit(sleeps_for_ever);
  fray::Result<void> result = fray::get(ref, 20ms);
  EXPECT_EQ(result.status().code(), fray::Code::kTimedOut);
  EXPECT_TRUE(fray::cancel(ref, true).value_or_throw());
}

TEST_F(CppTask, CancelledTaskFindsOutAndEnds) {
  auto ref = fray::submit(spins_until_cancelled);
  fray::get(fray::submit(nothing)).value_or_throw();
  EXPECT_TRUE(fray::cancel(ref).value_or_throw());
  EXPECT_EQ(fray::get(ref).status().code(), fray::Code::kCancelled);
}

TEST_F(CppTask, CancelWithForceEndsAWorkerThatDoesNotListen) {
  auto ref = fray::submit(sleeps_for_ever);
  EXPECT_EQ(fray::get(ref, 100ms).status().code(), fray::Code::kTimedOut);
  EXPECT_TRUE(fray::cancel(ref, true).value_or_throw());
  EXPECT_EQ(fray::get(ref).status().code(), fray::Code::kCancelled);
  EXPECT_EQ(fray::get(fray::submit(add, 1, 1)).value_or_throw(), 2);
}

TEST_F(CppTask, TaskPastItsTimeoutFails) {
  auto ref = fray::submit({.timeout = 100ms}, spins_until_cancelled);
  EXPECT_EQ(fray::get(ref).status().code(), fray::Code::kTimedOut);
}

TEST_F(CppTask, ResourcesThatTheNodeNeverHasAreRefused) {
  auto ref = fray::submit({.num_cpus = 1000}, add, 1, 1);
  EXPECT_FALSE(ref);
  fray::Result<int> result = fray::get(ref);
  EXPECT_EQ(result.status().code(), fray::Code::kInvalidArgument);
  EXPECT_THAT(failure(result), HasSubstr("can never run it"));
  EXPECT_THAT(failure(fray::get(fray::submit(add, ref, 1))), HasSubstr("can never run it"));
}

TEST_F(CppTask, PriorityOutsideOfItsRangeIsRefused) {
  for (int most : {-1000, 1000}) EXPECT_EQ(fray::get(fray::submit({.priority = most}, add, 1, 1)).value_or_throw(), 2);
  for (int wrong : {-1001, 1001, std::numeric_limits<int>::min()}) {
    const std::string said = "priority is " + std::to_string(wrong) + "; it must be from -1000 to 1000";
    EXPECT_THAT(failure(fray::get(fray::submit({.priority = wrong}, add, 1, 1))), HasSubstr(said));
  }
}

int unknown(int number) { return number; }
int twice(int number) { return 2 * number; }
int twice_again(int number) { return number + number; }
FRAY_TASK(twice, "the same name");
FRAY_TASK(twice_again, "the same name");

TEST_F(CppTask, FunctionThatIsNotRegisteredIsRefused) {
  EXPECT_THAT(failure(fray::get(fray::submit(unknown, 1))), HasSubstr("FRAY_TASK"));
}

TEST_F(CppTask, NameOfTwoFunctionsIsAmbiguousAndSaysSo) {
  EXPECT_THAT(failure(fray::get(fray::submit(twice, 1))), HasSubstr("registered twice"));
}

TEST_F(CppTask, TupleComesAsARefForEachPart) {
  auto [quotient, rest] = fray::submit_tuple(divide, 17, 5);
  EXPECT_EQ(fray::get(rest).value_or_throw(), 2);
  EXPECT_EQ(fray::get(fray::submit(add, quotient, 1)).value_or_throw(), 4);
  auto whole = fray::get(fray::submit(divide, 17, 5)).value_or_throw();
  EXPECT_EQ(whole, std::make_tuple(3, 2));
}

TEST_F(CppTask, PartsOfATupleMayBeLarge) {
  auto [name, values] = fray::submit_tuple({.label = "parts"}, parts, 100'000);
  EXPECT_EQ(fray::get(name).value_or_throw(), "ramp");
  EXPECT_EQ(fray::get(values).value_or_throw()[99'999], 99'999.0);
  EXPECT_EQ(fray::get(fray::submit(sum, values)).value_or_throw(), 99'999.0 * 50'000);
}

TEST_F(CppTask, FailureIsThatOfEachPart) {
  auto [quotient, rest] = fray::submit_tuple(divide, 1, 0);
  EXPECT_THAT(failure(fray::get(quotient)), HasSubstr("division by zero"));
  EXPECT_THAT(failure(fray::get(rest)), HasSubstr("division by zero"));
  auto [one, other] = fray::submit_tuple({.num_cpus = 1000}, divide, 1, 1);
  EXPECT_THAT(failure(fray::get(one)), HasSubstr("can never run it"));
  EXPECT_THAT(failure(fray::get(other)), HasSubstr("can never run it"));
}

TEST_F(CppTask, SeveralValuesAreAskedOfAFunctionThatGivesOne) {
  fray_function* function = nullptr;
  ASSERT_EQ(fray_function_make(session.get(), FRAY_CPP, "parent", nullptr, &function), FRAY_OK);
  std::array<fray_object*, 2> objects{};
  EXPECT_EQ(fray_submit_several(session.get(), function, nullptr, 0, objects.data(), 0), FRAY_INVALID_ARGUMENT);
  EXPECT_EQ(fray_submit_several(session.get(), function, nullptr, 0, objects.data(), 1001), FRAY_INVALID_ARGUMENT);
  ASSERT_EQ(fray_submit_several(session.get(), function, nullptr, 0, objects.data(), 2), FRAY_OK);
  fray_function_release(function);
  for (fray_object* object : objects) {
    EXPECT_THAT(failure(fray::get(fray::ObjectRef<int>(session.get(), object))),
                HasSubstr("to give 2 values, but its function returns int"));
  }
}

TEST_F(CppTask, EnvironmentIsThatOfItsWorkers) {
  fray::TaskOptions options{.environment = {{"FRAY_TEST_COLOUR", "green"}}};
  EXPECT_EQ(fray::get(fray::submit(options, variable, "FRAY_TEST_COLOUR")).value_or_throw(), "green");
  EXPECT_EQ(fray::get(fray::submit(variable, "FRAY_TEST_COLOUR")).value_or_throw(), "");
  EXPECT_EQ(fray::get(fray::submit(options, variable, "PATH")).value_or_throw(), variable("PATH"));
  EXPECT_THAT(failure(fray::get(fray::submit({.environment = {{"a=b", "c"}}}, variable, "a"))),
              HasSubstr("no name of a variable"));
}

int in_green_worker() {
  return static_cast<int>(
      fray::get(fray::submit({.environment = {{"FRAY_TEST_COLOUR", "green"}}}, variable, "FRAY_TEST_COLOUR"))
          .value_or_throw()
          .size());
}
FRAY_TASK(in_green_worker);

// How many kinds of workers the node knows, of all programs.
std::size_t worker_keys(const fray::Session& session) {
  const std::string status = session.status().value_or_throw();
  constexpr std::string_view kName = "\"worker_keys\":";
  const std::size_t found = status.find(kName);
  if (found == std::string::npos) throw std::runtime_error("no worker_keys in " + status);
  return std::stoul(status.substr(found + kName.size()));
}

TEST_F(CppTask, EnvironmentsThatNoFunctionHasAnyMoreAreForgotten) {
  fray::TaskOptions kept_options{.environment = {{"FRAY_TEST_COLOUR", "kept"}}};
  EXPECT_EQ(fray::get(fray::submit(kept_options, variable, "FRAY_TEST_COLOUR")).value_or_throw(), "kept");
  std::vector<fray::ObjectRef<std::string>> cancelled;
  for (int i = 0; i < 500; ++i) {
    cancelled.push_back(
        fray::submit({.environment = {{"FRAY_TEST_COLOUR", std::to_string(i)}}}, variable, "FRAY_TEST_COLOUR"));
    EXPECT_TRUE(fray::cancel(cancelled.back()).is_ok());
  }
  EXPECT_TRUE(fray::wait(cancelled, cancelled.size()).is_ok());
  cancelled.clear();
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (worker_keys(session) > 100 && std::chrono::steady_clock::now() < end) {
    EXPECT_TRUE(fray::get(fray::submit(nothing)).is_ok());
  }
  EXPECT_LE(worker_keys(session), 100U);
  EXPECT_EQ(fray::get(fray::submit(kept_options, variable, "FRAY_TEST_COLOUR")).value_or_throw(), "kept");
}

TEST_F(CppTask, TaskGivesItsOwnTasksAnEnvironment) {
  EXPECT_EQ(fray::get(fray::submit(in_green_worker)).value_or_throw(), 5);
}

TEST_F(CppTask, SecondSessionOfOneProcessIsRefused) {
  EXPECT_EQ(fray::connect().status().code(), fray::Code::kAlreadyExists);
}

TEST(CppSession, ClosedSessionFailsWhatWaitsAndAnotherCanBeOpened) {
  fray::ObjectRef<void> ref;
  {
    auto session = fray::connect({.cpus = 1}).value_or_throw();
    EXPECT_EQ(session.total("CPU"), 1);
    EXPECT_THAT(session.status().value_or_throw(), HasSubstr("\"resources\""));
    ref = fray::submit(sleeps_for_ever);
  }
  EXPECT_EQ(fray::get(ref).status().code(), fray::Code::kUnavailable);
  EXPECT_THAT(failure(fray::get(fray::submit(add, 1, 1))), HasSubstr("fray::connect()"));
  auto session = fray::connect({.cpus = 1}).value_or_throw();
  EXPECT_EQ(fray::get(fray::submit(add, 1, 1)).value_or_throw(), 2);
}

TEST(CppSession, AddressWithoutANodeIsUnavailable) {
  auto refused = fray::connect({.address = "/nonexistent/node.sock"});
  EXPECT_EQ(refused.status().code(), fray::Code::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("fray start"));
}

TEST(CppSession, AProgramOfAJobJoinsTheNodeOfTheJobUnlessItNamesAnother) {
  ::setenv("FRAY_NODE", "/nonexistent/of-the-job.sock", 1);
  auto of_the_job = fray::connect({.cpus = 1});
  auto named = fray::connect({.address = "/nonexistent/named.sock"});
  ::unsetenv("FRAY_NODE");
  EXPECT_EQ(of_the_job.status().code(), fray::Code::kUnavailable);
  EXPECT_THAT(of_the_job.status().message(), HasSubstr("/nonexistent/of-the-job.sock"));
  EXPECT_THAT(named.status().message(), HasSubstr("/nonexistent/named.sock"));
}

TEST(CppSession, MissingLibraryIsNotFound) {
  auto refused = fray::connect({.library = "/nonexistent/libjobs.so"});
  EXPECT_EQ(refused.status().code(), fray::Code::kNotFound);
}

}  // namespace
}  // namespace jobs
