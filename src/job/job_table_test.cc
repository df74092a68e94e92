#include "job/job_table.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fray::job {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

ResourceSet cpus(double amount) {
  ResourceSet resources;
  EXPECT_TRUE(resources.set("CPU", amount).is_ok());
  return resources;
}

JobSpec spec(const std::string& id, double cpu = 1, std::uint32_t replicas = 1) {
  JobSpec spec;
  spec.id = id;
  spec.name = id;
  spec.command = {"true"};
  spec.folder = "/";
  spec.resources = cpus(cpu);
  spec.replicas = replicas;
  return spec;
}

AttemptEnd exited(std::int32_t code) {
  AttemptEnd end;
  end.replicas = {{code, 0, false, 0, ""}};
  return end;
}

AttemptEnd lost() {
  AttemptEnd end;
  end.kind = AttemptEnd::Kind::kLost;
  end.text = "its supervisor is gone";
  return end;
}

class JobTableTest : public testing::Test {
 protected:
  Now now() { return {now_, 1'000'000'000 + now_.count()}; }
  void accept(JobSpec asked, const std::string& parent = "", std::uint32_t attempt = 0) {
    ASSERT_TRUE(table_.accept(std::move(asked), parent, attempt, now()).is_ok());
  }
  std::vector<Command> offer(double free) {
    table_.offer(cpus(free));
    return table_.take_commands();
  }
  void run(const std::string& id, std::uint32_t attempt) { table_.started(id, attempt, now()); }
  JobState state(const std::string& id) { return table_.view(id)->record->state; }
  JobPhase phase(const std::string& id) { return table_.view(id)->phase; }

  Moment now_{0};
  JobTable table_{cpus(4)};
};

TEST_F(JobTableTest, JobIsRecordedBeforeItStartsAndRunsToItsEnd) {
  accept(spec("a"));
  EXPECT_EQ(offer(4), (std::vector<Command>{Record{"a"}, Record{"a"}, Start{"a", 1}}));
  run("a", 1);
  EXPECT_EQ(state("a"), JobState::kRunning);
  table_.take_commands();
  table_.attempt_ended("a", 1, exited(0), now());
  EXPECT_EQ(table_.take_commands(), (std::vector<Command>{Record{"a"}, Ended{"a"}, AttemptOver{"a", 1}}));
  EXPECT_EQ(state("a"), JobState::kSucceeded);
  EXPECT_EQ(table_.record("a")->exit_code, 0);
}

TEST_F(JobTableTest, JobThatCanNeverFitIsRefusedWithWhatTheNodeHas) {
  Status refused = table_.accept(spec("a", 3, 2), "", 0, now());
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("need CPU 6, the node has CPU 4"));
}

TEST_F(JobTableTest, SecondJobOfAnIdIsRefused) {
  accept(spec("a"));
  EXPECT_EQ(table_.accept(spec("a"), "", 0, now()).code(), StatusCode::kAlreadyExists);
}

TEST_F(JobTableTest, GangStartsWithAllReplicasOrNone) {
  accept(spec("a", 1, 3));
  EXPECT_THAT(offer(2), Not(Contains(Command(Start{"a", 1}))));
  EXPECT_THAT(table_.view("a")->pending_reason,
              HasSubstr("waits for CPU 3: the node has CPU 4, of which CPU 2 is free"));
  EXPECT_THAT(offer(3), Contains(Command(Start{"a", 1})));
}

TEST_F(JobTableTest, LargeJobKeepsItsPlaceBeforeSmallerOnesThatCameLater) {
  accept(spec("large", 3));
  accept(spec("small", 1));
  EXPECT_THAT(offer(2), Not(Contains(Command(Start{"small", 1}))));
  EXPECT_THAT(table_.view("small")->pending_reason, HasSubstr("waits behind the job large"));
  EXPECT_THAT(offer(4), Contains(Command(Start{"small", 1})));
}

TEST_F(JobTableTest, HigherPriorityStartsFirst) {
  accept(spec("low", 4));
  JobSpec urgent = spec("urgent", 4);
  urgent.priority = 1;
  accept(urgent);
  EXPECT_THAT(offer(4), Contains(Command(Start{"urgent", 1})));
  EXPECT_EQ(phase("low"), JobPhase::kQueued);
}

TEST_F(JobTableTest, FailureIsTriedAgainAfterAPauseAsOftenAsTheBudgetSays) {
  JobSpec asked = spec("a");
  asked.max_failures = 1;
  accept(asked);
  offer(4);
  run("a", 1);
  table_.attempt_ended("a", 1, exited(3), now());
  EXPECT_EQ(state("a"), JobState::kPending);
  EXPECT_THAT(table_.view("a")->pending_reason, HasSubstr("failure 1 of 1"));
  EXPECT_THAT(table_.view("a")->pending_reason, HasSubstr("exited with code 3"));
  EXPECT_THAT(offer(4), Not(Contains(Command(Start{"a", 2}))));
  now_ = 1s;
  table_.tick(now());
  EXPECT_THAT(offer(4), Contains(Command(Start{"a", 2})));
  run("a", 2);
  table_.attempt_ended("a", 2, exited(5), now());
  EXPECT_EQ(state("a"), JobState::kFailed);
  EXPECT_EQ(table_.record("a")->exit_code, 5);
}

TEST_F(JobTableTest, PreemptionsDoNotUseTheBudgetOfFailures) {
  accept(spec("a"));
  offer(4);
  run("a", 1);
  table_.attempt_ended("a", 1, lost(), now());
  table_.tick(now());  // the first one is made good at once
  EXPECT_THAT(offer(4), Contains(Command(Start{"a", 2})));
  run("a", 2);
  table_.attempt_ended("a", 2, exited(1), now());
  EXPECT_EQ(state("a"), JobState::kFailed);
}

TEST_F(JobTableTest, ReplicaThatFailedByItselfDecidesNotThoseThatWereEndedWithIt) {
  accept(spec("a", 1, 3));
  offer(4);
  run("a", 1);
  AttemptEnd end;
  end.replicas = {{0, 2, true, 0, ""}, {7, 0, false, 0, "ValueError: no"}, {0, 2, true, 0, ""}};
  table_.attempt_ended("a", 1, end, now());
  EXPECT_EQ(table_.record("a")->exit_code, 7);
  EXPECT_EQ(table_.record("a")->message, "replica 1 of 3 failed: ValueError: no (it exited with code 7)");
}

TEST_F(JobTableTest, StopBeforeTheStartEndsTheJobAtOnce) {
  accept(spec("a"));
  table_.stop("a", "it was stopped", now());
  EXPECT_EQ(state("a"), JobState::kStopped);
  EXPECT_THAT(offer(4), Not(Contains(Command(Start{"a", 1}))));
}

TEST_F(JobTableTest, StopBetweenStartAndStartedIsAskedOnceItRuns) {
  accept(spec("a"));
  offer(4);
  table_.stop("a", "it was stopped", now());
  EXPECT_THAT(table_.take_commands(), Not(Contains(Command(Stop{"a", 1}))));
  run("a", 1);
  EXPECT_THAT(table_.take_commands(), Contains(Command(Stop{"a", 1})));
  AttemptEnd end;
  end.replicas = {{0, 15, true, 0, ""}};
  table_.attempt_ended("a", 1, end, now());
  EXPECT_EQ(state("a"), JobState::kStopped);
}

TEST_F(JobTableTest, JobThatSucceededBeforeTheStopReachedItHasSucceeded) {
  accept(spec("a"));
  offer(4);
  run("a", 1);
  table_.stop("a", "it was stopped", now());
  table_.attempt_ended("a", 1, exited(0), now());
  EXPECT_EQ(state("a"), JobState::kSucceeded);
}

TEST_F(JobTableTest, FinalStateIsNeverLeft) {
  accept(spec("a"));
  offer(4);
  run("a", 1);
  table_.attempt_ended("a", 1, exited(0), now());
  table_.stop("a", "too late", now());
  table_.attempt_ended("a", 1, exited(9), now());
  table_.started("a", 1, now());
  EXPECT_EQ(state("a"), JobState::kSucceeded);
  EXPECT_EQ(table_.contradictions(), 2u);
}

TEST_F(JobTableTest, ChildrenAreStoppedWhenTheAttemptThatLaunchedThemEnds) {
  accept(spec("parent"));
  offer(4);
  run("parent", 1);
  accept(spec("child"), "parent", 1);
  offer(4);
  run("child", 1);
  table_.take_commands();
  table_.attempt_ended("parent", 1, exited(0), now());
  EXPECT_THAT(table_.take_commands(), Contains(Command(Stop{"child", 1})));
}

TEST_F(JobTableTest, ChildOfAParentThatHasEndedNeverStarts) {
  accept(spec("parent"));
  offer(4);
  run("parent", 1);
  table_.attempt_ended("parent", 1, exited(0), now());
  accept(spec("child"), "parent", 1);
  EXPECT_EQ(state("child"), JobState::kStopped);
}

TEST_F(JobTableTest, DeadlineStopsTheJobAndItHasFailed) {
  JobSpec asked = spec("a");
  asked.deadline_seconds = 10;
  accept(asked);
  offer(4);
  run("a", 1);
  EXPECT_EQ(table_.next_due(), Moment(10s));
  now_ = 10s;
  table_.tick(now());
  EXPECT_THAT(table_.take_commands(), Contains(Command(Stop{"a", 1})));
  AttemptEnd end;
  end.replicas = {{0, 15, true, 0, ""}};
  table_.attempt_ended("a", 1, end, now());
  EXPECT_EQ(state("a"), JobState::kFailed);
  EXPECT_THAT(table_.record("a")->message, HasSubstr("deadline of 10 s"));
}

TEST_F(JobTableTest, EnvironmentIsBuiltBeforeTheJobIsQueued) {
  JobSpec asked = spec("a");
  asked.runtime_env = "{}";
  accept(asked);
  EXPECT_EQ(offer(4), (std::vector<Command>{Record{"a"}, Prepare{"a"}}));
  table_.preparing("a", "2 of 3 packages");
  EXPECT_EQ(table_.view("a")->pending_reason, "builds its environment: 2 of 3 packages");
  table_.prepared("a");
  EXPECT_THAT(offer(4), Contains(Command(Start{"a", 1})));
}

TEST_F(JobTableTest, EnvironmentThatCannotBeBuiltFailsTheJob) {
  JobSpec asked = spec("a");
  asked.runtime_env = "{}";
  accept(asked);
  table_.prepare_failed("a", "no such package", now());
  EXPECT_EQ(state("a"), JobState::kFailed);
}

TEST_F(JobTableTest, RestoredAttemptIsLookedForAndGoesOnAsItIsFound) {
  accept(spec("runs"));
  accept(spec("waits"));
  offer(1);
  run("runs", 1);
  JobTable next(cpus(4));
  for (const std::string& id : table_.ids()) next.restore(JobRecord::parse(table_.record(id)->json()).value(), now());
  next.restored(now());
  EXPECT_EQ(next.take_commands(), (std::vector<Command>{Find{"runs", 1}}));
  next.started("runs", 1, now());
  next.attempt_ended("runs", 1, exited(0), now());
  EXPECT_EQ(next.view("runs")->record->state, JobState::kSucceeded);
  EXPECT_EQ(next.view("waits")->phase, JobPhase::kQueued);
}

TEST_F(JobTableTest, RestoredAttemptThatNeverBeganStartsUnderTheSameNumber) {
  accept(spec("a"));
  offer(4);
  JobTable next(cpus(4));
  next.restore(*table_.record("a"), now());
  next.restored(now());
  next.not_begun("a", 1);
  next.offer(cpus(4));
  EXPECT_THAT(next.take_commands(), Contains(Command(Start{"a", 1})));
}

TEST_F(JobTableTest, BeginningOfAnIdNamesTheJobWhileNoOtherBeginsSo) {
  accept(spec("train-1"));
  EXPECT_EQ(table_.find("tr").value(), "train-1");
  accept(spec("train-2"));
  EXPECT_EQ(table_.find("tr").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(table_.find("train-2").value(), "train-2");
  EXPECT_EQ(table_.find("x").status().code(), StatusCode::kNotFound);
}

TEST_F(JobTableTest, OnlyJobsThatHaveEndedCanBeRemoved) {
  accept(spec("a"));
  EXPECT_EQ(table_.remove("a").code(), StatusCode::kInvalidArgument);
  table_.stop("a", "it was stopped", now());
  EXPECT_TRUE(table_.remove("a").is_ok());
  EXPECT_EQ(table_.view("a"), std::nullopt);
}

TEST(JobRecord, ReadsBackAsWritten) {
  JobRecord record;
  record.spec = spec("a", 0.5, 2);
  record.state = JobState::kFailed;
  record.replicas = {{3, 0, false, 77, "text"}};
  record.message = "because";
  EXPECT_EQ(JobRecord::parse(record.json())->json(), record.json());
  EXPECT_EQ(JobRecord::parse("{}").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(JobRecord::parse("no").status().code(), StatusCode::kCorruption);
}

TEST(JobRecord, OneOfAnEarlierReleaseIsReadWithWhatItLacksAsUsual) {
  JobRecord record;
  record.spec = spec("a");
  record.spec.max_files = 64;
  record.spec.metadata = {{"owner", "me"}};
  auto kept = nlohmann::json::parse(record.json());
  kept["spec"].erase("max_files");
  kept["spec"]["metadata"] = R"({"owner": "me", "steps": 7})";
  auto read = JobRecord::parse(kept.dump());
  ASSERT_TRUE(read.is_ok());
  EXPECT_EQ(read->spec.max_files, 0u);
  EXPECT_EQ(read->spec.metadata, (Texts{{"owner", "me"}, {"steps", "7"}}));
  kept["spec"].erase("resource_units");
  EXPECT_EQ(JobRecord::parse(kept.dump()).status().code(), StatusCode::kCorruption);
}

TEST(JobSpecCheck, BadNamesAreRefusedWithWhatWouldDo) {
  for (const std::string name : {"", "a b", "a/b", "a\nb"}) {
    JobSpec asked = spec("x");
    asked.name = name;
    EXPECT_EQ(asked.check().code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(JobTableTest, AdoptedJobThatIsTriedAgainHasItsEnvironmentMadeFirst) {
  JobSpec asked = spec("a");
  asked.runtime_env = "{}";
  asked.max_failures = 1;
  accept(asked);
  table_.prepared("a");
  offer(4);
  run("a", 1);
  JobTable next(cpus(4));
  next.restore(*table_.record("a"), now());
  next.restored(now());
  next.started("a", 1, now());
  next.attempt_ended("a", 1, exited(1), now());
  next.take_commands();
  now_ = 10s;
  next.tick(now());
  EXPECT_THAT(next.take_commands(), Contains(Command(Prepare{"a"})));
  EXPECT_EQ(next.view("a")->phase, JobPhase::kBuilding);
  next.prepared("a");
  next.offer(cpus(4));
  EXPECT_THAT(next.take_commands(), Contains(Command(Start{"a", 2})));
}

TEST_F(JobTableTest, EnvironmentIsMadeOnceForAllAttemptsOfANodesLife) {
  JobSpec asked = spec("a");
  asked.runtime_env = "{}";
  asked.max_failures = 1;
  accept(asked);
  table_.prepared("a");
  offer(4);
  run("a", 1);
  table_.attempt_ended("a", 1, exited(1), now());
  table_.take_commands();
  now_ = 10s;
  table_.tick(now());
  EXPECT_EQ(phase("a"), JobPhase::kQueued);
}

class RetentionTest : public JobTableTest {
 protected:
  // Each ends a second after the one before.
  void end_jobs(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      now_ += 1s;
      accept(spec(id));
      offer(4);
      run(id, 1);
      table_.attempt_ended(id, 1, exited(0), now());
    }
    table_.take_commands();
  }
};

TEST_F(RetentionTest, TooManyEndedJobsAreForgottenTheOldestFirst) {
  end_jobs({"a", "b", "c"});
  accept(spec("running"));
  offer(4);
  run("running", 1);
  table_.prune({.jobs = 1, .age = 24h, .at_least = 0s}, {}, now());
  EXPECT_THAT(table_.take_commands(), testing::IsSupersetOf({Command(Remove{"a"}), Command(Remove{"b"})}));
  EXPECT_EQ(table_.ids(), (std::vector<std::string>{"c", "running"}));
}

TEST_F(RetentionTest, OldJobsAreForgottenHoweverFewThereAre) {
  end_jobs({"a", "b"});
  now_ += 10s;
  table_.prune({.jobs = 100, .age = 10s + 500ms}, {}, now());
  EXPECT_EQ(table_.ids(), std::vector<std::string>{"b"});
}

TEST_F(RetentionTest, JobsThatEndedJustNowAreKeptHoweverManyThereAre) {
  end_jobs({"a", "b", "c"});
  table_.prune({.jobs = 1, .age = 24h, .at_least = 1h}, {}, now());
  EXPECT_EQ(table_.ids().size(), 3u);
}

TEST_F(RetentionTest, RunningJobIsNeverForgottenAndOneThatSomebodyWaitsForIsNot) {
  accept(spec("running"));
  offer(4);
  run("running", 1);
  end_jobs({"a", "b"});
  now_ += 1000h;
  table_.prune({.jobs = 0, .age = 1s, .at_least = 0s}, {"a"}, now());
  EXPECT_EQ(table_.ids(), (std::vector<std::string>{"running", "a"}));
}

}  // namespace
}  // namespace fray::job
