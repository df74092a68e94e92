// Faults: what a task throws, and workers that crash, abort, run out of stack, exit or are killed.
#include <csignal>
#include <filesystem>
#include <regex>

#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "cpp/session_fixture.h"

namespace jobs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr bool kSanitized = fray::kUnderAddressSanitizer || fray::kUnderThreadSanitizer;

class Marker {
 public:
  Marker() { std::filesystem::remove(path()); }
  ~Marker() { std::filesystem::remove(path()); }
  std::string path() const {
    return std::filesystem::temp_directory_path() / ("fray-marker-" + std::to_string(::getpid()));
  }
};

class CppFault : public InSession {
 protected:
  template <typename F, typename... A>
  fray::Status end_of(F* function, const A&... arguments) {
    return fray::get(fray::submit({.max_retries = 0}, function, arguments...)).status();
  }
  void expect_next_task_runs() { EXPECT_EQ(fray::get(fray::submit(add, 1, 1)).value_or_throw(), 2); }
};

TEST_F(CppFault, ExceptionArrivesWithTypeAndText) {
  fray::Status status = end_of(throws, std::string("beyond the end"));
  EXPECT_EQ(status.code(), fray::Code::kTaskFailed);
  EXPECT_EQ(status.type_name(), "std::out_of_range");
  EXPECT_THAT(status.message(), AllOf(HasSubstr("throws"), HasSubstr("beyond the end")));
  EXPECT_THROW(status.or_throw(), fray::Error);
}

TEST_F(CppFault, ThrownNumberIsAFailureThatNamesItsType) { EXPECT_EQ(end_of(throws_number).type_name(), "int"); }

TEST_F(CppFault, FailedResultIsAFailure) {
  EXPECT_EQ(fray::get(fray::submit(half, 4)).value_or_throw(), 2);
  EXPECT_THAT(failure(fray::get(fray::submit(half, 3))), HasSubstr("the number is odd"));
}

TEST_F(CppFault, FailedArgumentFailsTheTaskThatNeedsIt) {
  fray::ObjectRef<int> failed = fray::submit(throws, "the first");
  EXPECT_THAT(failure(fray::get(fray::submit(add, failed, 1))), HasSubstr("the first"));
}

TEST_F(CppFault, SegmentationFaultReportsSignalStackAndOutput) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has handlers of its own";
  fray::Status status = end_of(segfaults);
  EXPECT_EQ(status.code(), fray::Code::kWorkerDied);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("SIGSEGV"), HasSubstr("its stack"), HasSubstr("segfaults"), HasSubstr("about to crash")));
  expect_next_task_runs();
}

TEST_F(CppFault, AbortReportsItsSignal) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has handlers of its own";
  EXPECT_THAT(end_of(aborts).message(), AllOf(HasSubstr("SIGABRT"), HasSubstr("aborts")));
  expect_next_task_runs();
}

TEST_F(CppFault, OverflowOfTheStackIsReported) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has handlers of its own";
  EXPECT_THAT(end_of(overflows_stack).message(), AllOf(HasSubstr("SIGSEGV"), HasSubstr("its stack")));
  expect_next_task_runs();
}

TEST_F(CppFault, ExitCodeIsReported) {
  EXPECT_THAT(end_of(leaves, 3).message(), HasSubstr("exited with code 3"));
  expect_next_task_runs();
}

TEST_F(CppFault, KilledWorkerIsReportedWithItsSignal) {
  Marker marker;
  fray::Status status = end_of(dies_once, marker.path());
  EXPECT_EQ(status.code(), fray::Code::kWorkerDied);
  EXPECT_THAT(status.message(), HasSubstr("SIGKILL"));
  expect_next_task_runs();
}

TEST_F(CppFault, TaskThatTakesMoreMemoryThanItAskedForIsKilled) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory is counted too";
  fray::TaskOptions options{.resources = {{"memory", 50 << 20}}, .max_retries = 0};
  fray::Status status = fray::get(fray::submit(options, fills_memory, std::size_t{300} << 20)).status();
  EXPECT_EQ(status.code(), fray::Code::kWorkerOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("out of memory"));
  expect_next_task_runs();
}

TEST_F(CppFault, RefOfAnotherTypeIsAnErrorThatNamesBothTypes) {
  fray::ObjectRef<int> wrong{fray::AnyRef(fray::put(std::string("text")))};
  fray::Result<int> got = fray::get(wrong);
  EXPECT_EQ(got.status().code(), fray::Code::kWrongType);
  EXPECT_THAT(failure(got), HasSubstr("expected int, got str"));
  EXPECT_THAT(failure(fray::get(fray::submit(add, 1, wrong))), HasSubstr("argument 1: expected int, got str"));
  expect_next_task_runs();
}

TEST_F(CppFault, KilledNodeFailsWhatWaitsAndArraysStayReadable) {
  fray::Array<double> values = fray::get(fray::submit(ramp, std::size_t{100'000})).value_or_throw();
  fray::ObjectRef<void> waits = fray::submit(sleeps_for_ever);
  const std::string report = session.status().value_or_throw();
  std::smatch node;
  ASSERT_TRUE(std::regex_search(report, node, std::regex(R"("node":\s*\{[^}]*"pid":\s*(\d+))")));
  ASSERT_EQ(::kill(std::stoi(node[1]), SIGKILL), 0);
  EXPECT_EQ(fray::get(waits).status().code(), fray::Code::kUnavailable);
  EXPECT_EQ(fray::get(fray::submit(add, 1, 1)).status().code(), fray::Code::kUnavailable);
  EXPECT_EQ(values[99'999], 99'999.0);
}

TEST_F(CppFault, TaskIsTriedAgainWhenItsWorkerDied) {
  std::filesystem::path marker = std::filesystem::temp_directory_path() / ("fray-once-" + std::to_string(::getpid()));
  EXPECT_TRUE(fray::get(fray::submit({.max_retries = 1}, dies_once, marker.string())).is_ok());
  EXPECT_TRUE(std::filesystem::remove(marker));
}

TEST_F(CppFault, ExceptionIsTriedAgainOnlyWhenThatIsAskedFor) {
  Marker marker;
  EXPECT_THAT(failure(fray::get(fray::submit({.max_retries = 3}, fails_at_first, marker.path(), 2))),
              HasSubstr("attempt 1"));
  fray::TaskOptions retrying{.max_retries = 1, .retry_exceptions = true};
  EXPECT_EQ(fray::get(fray::submit(retrying, fails_at_first, marker.path(), 2)).value_or_throw(), 3);
}

TEST_F(CppFault, LastExceptionIsToldWhenNoRetryIsLeft) {
  Marker marker;
  fray::TaskOptions retrying{.max_retries = 2, .retry_exceptions = true};
  EXPECT_THAT(failure(fray::get(fray::submit(retrying, fails_at_first, marker.path(), 100))), HasSubstr("attempt 3"));
  expect_next_task_runs();
}

TEST_F(CppFault, TooFewArgumentsFromElsewhereFailTheTask) {
  fray_function* function = nullptr;
  ASSERT_EQ(fray_function_make(session.get(), FRAY_CPP, "add", nullptr, &function), FRAY_OK);
  fray_object* object = nullptr;
  ASSERT_EQ(fray_submit(session.get(), function, nullptr, 0, &object), FRAY_OK);
  fray_function_release(function);
  fray::ObjectRef<int> ref(session.get(), object);
  EXPECT_THAT(failure(fray::get(ref)), HasSubstr("it takes 2 arguments, but 0 were given"));
}

TEST_F(CppFault, NameThatWorkersDoNotHaveListsThoseTheyHave) {
  fray_function* function = nullptr;
  ASSERT_EQ(fray_function_make(session.get(), FRAY_CPP, "subtract", nullptr, &function), FRAY_OK);
  fray_object* object = nullptr;
  ASSERT_EQ(fray_submit(session.get(), function, nullptr, 0, &object), FRAY_OK);
  fray_function_release(function);
  fray::ObjectRef<int> ref(session.get(), object);
  EXPECT_THAT(failure(fray::get(ref)), AllOf(HasSubstr("no task 'subtract'"), HasSubstr("add")));
}

TEST_F(CppFault, ChildOfAForkHasNoSessionAndTheParentKeepsIts) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(fray_current_session() == nullptr ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_next_task_runs();
}

TEST_F(CppFault, ChildOfAForkIsRefusedWhatItsParentHasAndWaitsForNothing) {
  fray::ObjectRef<int> slow = fray::submit(add, 1, fray::submit(add, 1, 1));
  fray::ObjectRef<int> ready = fray::put(1);
  auto counter = fray::create_actor<Counter>(5).value_or_throw();
  pid_t child = ::fork();
  if (child == 0) {
    int refused = 0;
    for (const std::string& text :
         {failure(fray::get(slow)), failure(fray::get(ready)), session.status().status().message()}) {
      refused += text.find("before this process was forked") != std::string::npos ? 1 : 0;
    }
    refused += failure(fray::get(counter.call(&Counter::get))).find("fray::connect()") != std::string::npos ? 1 : 0;
    slow = ready = {};
    ::_exit(refused);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 4);
  EXPECT_EQ(fray::get(slow).value_or_throw(), 3);
  expect_next_task_runs();
}

TEST_F(CppFault, ChildThatATaskForksEndsWhereItComesBackFromTheTask) {
  if (kSanitized) GTEST_SKIP() << "what the stacks of the parent's other threads held counts as lost in a child";
  const std::map<std::string, int> codes = {{"returns", 0}, {"throws", 1},  {"leaves", 7},   {"copies and drops", 0},
                                            {"gets", 1},    {"submits", 1}, {"connects", 1}, {"forks", 0}};
  auto counter = fray::create_actor<Counter>(5).value_or_throw();
  auto side_by_side = fray::create_actor<Counter>({.max_concurrency = 3}, 5).value_or_throw();
  for (const auto& [deed, code] : codes) {
    SCOPED_TRACE(deed);
    const fray::Timeout limit{20.0};
    EXPECT_EQ(fray::get(fray::submit(ends_as_child, deed), limit).value_or_throw(), code);
    EXPECT_EQ(fray::get(counter.call(&Counter::ends_as_child, deed), limit).value_or_throw(), code);
    EXPECT_EQ(fray::get(side_by_side.call(&Counter::ends_as_child, deed), limit).value_or_throw(), code);
    auto forks = fray::create_actor<Forks>(deed).value_or_throw();
    EXPECT_EQ(fray::get(forks.call(&Forks::code), limit).value_or_throw(), code);
  }
  EXPECT_EQ(fray::get(counter.call(&Counter::get)).value_or_throw(), 5);
  expect_next_task_runs();
}

}  // namespace
}  // namespace jobs
