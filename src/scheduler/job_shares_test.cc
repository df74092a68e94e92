// Jobs in the LeaseTable: what they hold, lend and leave.
#include <gtest/gtest.h>

#include <variant>

#include "scheduler/lease_table.h"
#include "scheduler/lease_test_names.h"

namespace fray::scheduler {
namespace {

constexpr ProcessId kJob = 50;  // of a job
constexpr ProcessId kOther = 51;
constexpr ProcessId kInside = 1;  // a process of the first job
constexpr ProcessId kOutside = 2;

class LeaseJobs : public testing::Test {
 protected:
  LeaseJobs() : table_({.total = cpu(2), .max_workers = 8}) {
    table_.client_joined(kInside, kJob);
    table_.client_joined(kOutside);
  }
  void demand(ProcessId client, std::uint32_t count) {
    table_.demand_changed(client, {.demand = 0, .count = count, .shape = {.resources = cpu(1)}});
  }
  // Carries out starts; returns the grants.
  std::vector<GrantLease> settle() {
    std::vector<GrantLease> grants;
    for (bool started = true; started;) {
      started = false;
      for (const Command& command : table_.take_commands()) {
        if (const auto* grant = std::get_if<GrantLease>(&command)) grants.push_back(*grant);
        if (!std::holds_alternative<StartWorker>(command)) continue;
        table_.worker_starting(next_worker_, 0);
        table_.client_joined(next_worker_);
        table_.worker_ready(next_worker_++);
        started = true;
      }
    }
    return grants;
  }

  LeaseTable table_;
  ProcessId next_worker_ = 100;
};

TEST_F(LeaseJobs, JobHoldsItsCpusUntilItEnds) {
  table_.jobs().started(kJob, cpu(1));
  EXPECT_EQ(table_.free(), cpu(1));
  EXPECT_EQ(table_.jobs().room().amount("CPU"), 1);
  table_.jobs().ended(kJob);
  EXPECT_EQ(table_.free(), cpu(2));
}

TEST_F(LeaseJobs, TasksOfAJobAreChargedToItsOwnCpusFirst) {
  table_.jobs().started(kJob, cpu(1));
  table_.jobs().started(kOther, cpu(1));
  demand(kInside, 3);
  EXPECT_EQ(settle().size(), 1u) << "one CPU is its own, the other one is another job's";
  EXPECT_EQ(table_.jobs().room().amount("CPU"), -1) << "a task runs in its place and another one waits";
}

TEST_F(LeaseJobs, JobTakesItsCpusBackWhenItsTasksAreDoneEvenBelowZero) {
  table_.jobs().started(kJob, cpu(2));
  table_.jobs().waits(kJob, true);
  demand(kOutside, 1);
  ASSERT_EQ(settle().size(), 1u);
  table_.jobs().waits(kJob, false);
  settle();
  EXPECT_EQ(table_.free(), [] {
    ResourceSet below;
    below.set_units("CPU", -ResourceSet::kUnitsPerOne);
    return below;
  }());
}

TEST_F(LeaseJobs, FloodOfTasksOfAProgramDoesNotKeepCpusFromJobs) {
  demand(kOutside, 1000);
  ASSERT_EQ(settle().size(), 2u);
  EXPECT_EQ(table_.jobs().room().amount("CPU"), 2);
}

TEST_F(LeaseJobs, NothingButCpusIsLent) {
  ResourceSet asked = cpu(1);
  ASSERT_TRUE(asked.set("memory", 64).is_ok());
  ResourceSet total = cpu(2);
  ASSERT_TRUE(total.set("memory", 100).is_ok());
  LeaseTable table({.total = total, .max_workers = 8});
  table.jobs().started(kJob, asked);
  table.jobs().waits(kJob, true);
  table.take_commands();
  EXPECT_EQ(table.free().amount("CPU"), 2);
  EXPECT_EQ(table.free().amount("memory"), 36);
}

}  // namespace
}  // namespace fray::scheduler
