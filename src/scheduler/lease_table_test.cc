#include "scheduler/lease_table.h"

#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

#include "scheduler/lease_test_names.h"

namespace fray::scheduler {
namespace {

DemandChange demand(std::uint32_t number, std::uint32_t count, ResourceSet resources, std::uint32_t depth = 0,
                    WorkerKeyId key = 0) {
  return {.demand = number, .count = count, .shape = {.resources = std::move(resources), .key = key, .depth = depth}};
}

// A node of the test: carries commands out at once, workers are numbered from 100.
class Bench {
 public:
  explicit Bench(double cpus, std::uint32_t max_workers = 32)
      : Bench(Limits{.total = cpu(cpus), .max_workers = max_workers}) {}
  explicit Bench(Limits limits) : table(std::move(limits)) {}

  void join(ProcessId client) { table.client_joined(client); }
  std::vector<Command> take() { return table.take_commands(); }
  // Carries out starts until none is asked for; returns all other commands.
  std::vector<Command> settle() {
    std::vector<Command> others;
    for (bool started = true; started;) {
      started = false;
      for (Command& command : table.take_commands()) {
        if (const auto* start = std::get_if<StartWorker>(&command)) {
          bring_up(start->key);
          started = true;
        } else {
          others.push_back(std::move(command));
        }
      }
    }
    return others;
  }
  ProcessId bring_up(WorkerKeyId key) {
    const ProcessId worker = next_worker++;
    table.worker_starting(worker, key);
    table.client_joined(worker);
    table.worker_ready(worker);
    return worker;
  }

  LeaseTable table;
  ProcessId next_worker = 100;
};

template <typename Wanted>
std::vector<Wanted> only(const std::vector<Command>& commands) {
  std::vector<Wanted> chosen;
  for (const Command& command : commands) {
    if (const auto* found = std::get_if<Wanted>(&command)) chosen.push_back(*found);
  }
  return chosen;
}

TEST(LeaseTable, StartsAsManyWorkersAsDemandsWithResourcesCouldUse) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 5, cpu(1)));
  EXPECT_EQ(bench.take(), (std::vector<Command>{StartWorker{0}, StartWorker{0}}));
  bench.table.demand_changed(kAnn, demand(0, 6, cpu(1)));
  EXPECT_TRUE(bench.take().empty()) << "those already asked for are counted";
}

TEST(LeaseTable, GrantsAReadyWorkerAndTakesResources) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(7, 1, cpu(2)));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{GrantLease{1, kAnn, 7, 100, {}}}));
  EXPECT_TRUE(bench.table.free().empty());
  bench.table.lease_returned(kAnn, 1);
  EXPECT_EQ(bench.table.free(), cpu(2));
}

TEST(LeaseTable, GrantsDeeperDemandsFirst) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1), 0));
  bench.table.demand_changed(kAnn, demand(1, 1, cpu(1), 3));
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).demand, 1u);
}

TEST(LeaseTable, GrantsClientWithFewestLeasesThenOldestDemand) {
  Bench bench(3);
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.demand_changed(kAnn, demand(0, 2, cpu(1)));
  bench.table.demand_changed(kBob, demand(0, 2, cpu(1)));
  const auto grants = only<GrantLease>(bench.settle());
  ASSERT_EQ(grants.size(), 3u);
  EXPECT_EQ(grants[0].client, kAnn);
  EXPECT_EQ(grants[1].client, kBob);
  EXPECT_EQ(grants[2].client, kAnn);
}

TEST(LeaseTable, FirstDemandThatCannotBeServedKeepsWhatItNeeds) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.settle();
  bench.table.demand_changed(kAnn, demand(1, 1, cpu(2), 1));
  bench.table.demand_changed(kAnn, demand(2, 1, cpu(1), 0));
  EXPECT_TRUE(only<GrantLease>(bench.settle()).empty());
  bench.table.lease_returned(kAnn, 1);
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).demand, 1u);
}

TEST(LeaseTable, BlockedWorkersResourcesAreGrantedToOthers) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.settle();
  bench.table.demand_changed(100, demand(0, 1, cpu(1), 1));
  EXPECT_TRUE(only<GrantLease>(bench.settle()).empty());
  bench.table.worker_blocked(100);
  EXPECT_EQ(only<GrantLease>(bench.settle()), (std::vector<GrantLease>{{2, 100, 0, 101, {}}}));
}

TEST(LeaseTable, ResumedWorkerTakesResourcesBelowZeroAndNothingIsGrantedUntilTheyAreNot) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.settle();
  bench.table.worker_blocked(100);
  bench.table.demand_changed(kAnn, demand(0, 2, cpu(1)));
  ASSERT_EQ(only<GrantLease>(bench.settle()).size(), 1u);
  bench.table.worker_unblocked(100);
  EXPECT_EQ(bench.table.free().amount("CPU"), -1.0);
  EXPECT_TRUE(only<GrantLease>(bench.settle()).empty());
  bench.table.lease_returned(kAnn, 1);
  EXPECT_TRUE(only<GrantLease>(bench.settle()).empty()) << "free is zero";
  bench.table.lease_returned(kAnn, 2);
  EXPECT_EQ(only<GrantLease>(bench.settle()).size(), 1u);
}

TEST(LeaseTable, DemandsForNothingAreGrantedUpToTheWorkerLimit) {
  Bench bench(1, 4);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 9, ResourceSet()));
  EXPECT_EQ(only<GrantLease>(bench.settle()).size(), 4u);
  EXPECT_EQ(reason_of(bench.table, 0).text, "waits: 4 workers exist, the limit");
}

TEST(LeaseTable, LeasesOnTheirWayToAClientThatAsksAgainCountAmongThoseThatItAsksFor) {
  Bench bench({.total = cpu(1), .max_workers = 32});
  bench.join(kAnn);
  const auto ask = [&](std::uint32_t count, std::uint32_t leases) {
    DemandChange wanted = demand(0, count, {});
    wanted.leases = leases;
    bench.table.demand_changed(kAnn, wanted);
    return only<GrantLease>(bench.settle());
  };
  const std::vector<GrantLease> first = ask(3, 0);
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(ask(5, 0).size(), 2u) << "three of the five are on their way";
  EXPECT_TRUE(ask(1, 2).empty()) << "more than one is on its way";
  EXPECT_EQ(ask(1, 5).size(), 1u);
  bench.table.lease_returned(kAnn, first.front().lease);
  EXPECT_EQ(ask(1, 5).size(), 1u);
}

TEST(LeaseTable, AtTheLimitAnIdleWorkerOfAnotherKeyMakesRoom) {
  Bench bench(1, 1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1), 0, 5));
  bench.settle();
  bench.table.lease_returned(kAnn, 1);
  bench.table.demand_changed(kAnn, demand(1, 1, cpu(1), 0, 6));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{StopWorker{100, false}}));
  EXPECT_TRUE(bench.settle().empty()) << "one stop is enough";
  bench.table.worker_left(100);
  EXPECT_EQ(only<GrantLease>(bench.settle()), (std::vector<GrantLease>{{2, kAnn, 1, 101, {}}}));
}

TEST(LeaseTable, DemandThatWaitsForAnotherKeyAtTheLimitIsNotOvertakenByAFlood) {
  Bench bench(1, 1);
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.demand_changed(kAnn, demand(0, 100, ResourceSet(), 0, 5));
  bench.settle();
  bench.table.demand_changed(kBob, demand(0, 1, ResourceSet(), 0, 6));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{kAnn, 1, 0}}));
  bench.table.lease_returned(kAnn, 1);
  EXPECT_EQ(bench.settle(), (std::vector<Command>{StopWorker{100, false}}));
  bench.table.worker_left(100);
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).client, kBob);
}

// Three workers on one CPU, which become idle one second after the other.
struct IdleWorkers : Bench {
  IdleWorkers() : Bench(1, 8) {
    join(kAnn);
    table.demand_changed(kAnn, demand(0, 3, ResourceSet()));
    settle();
    for (LeaseId lease = 1; lease <= 3; ++lease) {
      table.tick(std::chrono::seconds(lease));
      table.lease_returned(kAnn, lease);
      EXPECT_TRUE(settle().empty());
    }
  }
};

TEST(LeaseTable, IdleWorkersBeyondTheCpusAreStoppedAfterAMinute) {
  IdleWorkers bench;
  EXPECT_EQ(bench.table.next_due(), Moment(std::chrono::seconds(61)));
  bench.table.tick(std::chrono::seconds(61) - Moment(1));
  EXPECT_TRUE(bench.settle().empty());
  for (int seconds : {61, 62}) {
    bench.table.tick(std::chrono::seconds(seconds));
    EXPECT_EQ(only<StopWorker>(bench.settle()).size(), 1u);
  }
  EXPECT_EQ(bench.table.next_due(), std::nullopt) << "the CPU could use the last one";
}

TEST(LeaseTable, IdleWorkersBeyondTheCpusAreGrantedAgainAndTheirMinuteBeginsAnew) {
  IdleWorkers bench;
  bench.table.demand_changed(kAnn, demand(0, 3, ResourceSet()));
  const std::vector<Command> commands = bench.settle();
  EXPECT_EQ(only<GrantLease>(commands).size(), 3u);
  EXPECT_TRUE(only<StartWorker>(commands).empty());
  bench.table.tick(std::chrono::seconds(70));
  for (LeaseId lease = 4; lease <= 6; ++lease) bench.table.lease_returned(kAnn, lease);
  EXPECT_TRUE(bench.settle().empty());
  EXPECT_EQ(bench.table.next_due(), Moment(std::chrono::seconds(130)));
}

TEST(LeaseTable, IdleWorkersBeyondTheCpusAreStoppedWhenMemoryIsScarce) {
  IdleWorkers bench;
  bench.table.supply().memory_is_scarce(true);
  EXPECT_EQ(only<StopWorker>(bench.settle()).size(), 2u);
  bench.table.supply().memory_is_scarce(false);
  EXPECT_TRUE(bench.settle().empty());
}

TEST(LeaseTable, TwoClientsOnTwoCpusEndWithOneLeaseEach) {
  Bench bench(2);
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.demand_changed(kAnn, demand(0, 100, cpu(1)));
  bench.settle();
  bench.table.demand_changed(kBob, demand(0, 100, cpu(1)));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{kAnn, 1, 0}}));
  bench.table.demand_changed(kBob, demand(0, 99, cpu(1)));
  EXPECT_TRUE(bench.settle().empty()) << "asked once";
  bench.table.lease_returned(kAnn, 1);
  EXPECT_EQ(bench.settle(), (std::vector<Command>{GrantLease{3, kBob, 0, 101, {}}}));
  EXPECT_TRUE(bench.settle().empty()) << "both have their share";
}

TEST(LeaseTable, TwoClientsOnOneCpuTakeTurns) {
  Bench bench(1);
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.demand_changed(kAnn, demand(0, 100, cpu(1)));
  bench.settle();
  bench.table.demand_changed(kBob, demand(0, 100, cpu(1)));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{kAnn, 1, 0}}));
  bench.table.lease_returned(kAnn, 1);
  EXPECT_EQ(bench.settle(), (std::vector<Command>{GrantLease{2, kBob, 0, 100, {}}, ReclaimLeases{kBob, 1, 0}}));
}

// What `demand()` gives, of a priority.
DemandChange of_priority(std::int32_t priority, DemandChange change) {
  change.shape.priority = priority;
  return change;
}

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LeaseTable, HigherPriorityIsServedFirstAndEqualOnesInOrder) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, of_priority(-1, demand(0, 1, cpu(1))));
  bench.table.demand_changed(kAnn, of_priority(5, demand(1, 1, cpu(1))));
  bench.table.demand_changed(kAnn, of_priority(5, demand(2, 1, cpu(1))));
  bench.table.demand_changed(kAnn, demand(3, 1, cpu(1)));
  std::vector<std::uint32_t> order;
  for (LeaseId lease = 1; lease <= 4; ++lease) {
    for (const GrantLease& grant : only<GrantLease>(bench.settle())) order.push_back(grant.demand);
    bench.table.lease_returned(kAnn, lease);
  }
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 2, 3, 0}));
}

TEST(LeaseTable, DeeperWorkGoesBeforeAHigherPriority) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, of_priority(1000, demand(0, 1, cpu(1), 0)));
  bench.table.demand_changed(kAnn, of_priority(-1000, demand(1, 1, cpu(1), 1)));
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).demand, 1u);
}

TEST(LeaseTable, HigherPriorityAsksAllLeasesBackAndALowerOneNone) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 2, cpu(1)));
  bench.settle();
  bench.table.demand_changed(kAnn, of_priority(-3, demand(1, 2, cpu(1))));
  EXPECT_TRUE(bench.settle().empty()) << "what runs is more urgent";
  bench.table.demand_changed(kAnn, of_priority(3, demand(2, 2, cpu(1))));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{kAnn, 2, 0}}));
}

TEST(LeaseTable, WaitingDemandGainsAStepEachSecondUpToTheHighestAndStartsAnewWithItsLease) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, of_priority(3, demand(0, 1, cpu(1))));
  bench.table.tick(seconds(10));
  bench.settle();
  bench.table.demand_changed(kAnn, of_priority(1, demand(1, 2, cpu(1))));
  EXPECT_TRUE(bench.settle().empty());
  EXPECT_EQ(bench.table.next_due(), seconds(11));
  bench.table.tick(milliseconds(11'999));
  EXPECT_TRUE(bench.settle().empty()) << "a step short";
  bench.table.tick(seconds(12));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{kAnn, 1, 0}}));
  EXPECT_EQ(bench.table.next_due(), std::nullopt) << "it has gained all there is";
  bench.table.demand_changed(kAnn, of_priority(3, demand(0, 1, cpu(1))));
  bench.table.lease_returned(kAnn, 1);
  EXPECT_EQ(bench.settle(), (std::vector<Command>{GrantLease{2, kAnn, 1, 100, {}}, ReclaimLeases{kAnn, 1, 1}}))
      << "it goes first, and the next moment what it got is asked back";
  EXPECT_EQ(bench.table.next_due(), seconds(13));
}

TEST(LeaseTable, ProgramWithNothingRunningGoesBeforeTheHighestPriorityOfAnother) {
  Bench bench(2);
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.demand_changed(kAnn, of_priority(1000, demand(0, 100, cpu(1))));
  bench.settle();
  bench.table.demand_changed(kBob, of_priority(-1000, demand(0, 100, cpu(1))));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{kAnn, 1, 0}}));
  bench.table.lease_returned(kAnn, 1);
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).client, kBob);
  EXPECT_TRUE(bench.settle().empty()) << "and keeps one";
}

TEST(LeaseTable, WaitingRowsTellTheWholeShapeAndSinceWhenTheyWait) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.tick(seconds(7));
  bench.table.demand_changed(kAnn, of_priority(4, demand(3, 2, cpu(2), 1, 9)));
  bench.settle();
  const std::vector<const Demand*> waiting = bench.table.state().demands.all();
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0]->wanted.shape, of_priority(4, demand(3, 2, cpu(2), 1, 9)).shape);
  EXPECT_EQ(waiting[0]->waiting_since, seconds(7));
}

TEST(LeaseTable, NestedFloodOfOneProgramGivesToAnotherProgramThatHasNothing) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.settle();
  bench.table.worker_blocked(100);
  bench.table.demand_changed(100, demand(0, 50, cpu(1), 1));
  EXPECT_EQ(only<GrantLease>(bench.settle()).size(), 2u);
  bench.join(kBob);
  bench.table.demand_changed(kBob, demand(0, 1, cpu(1)));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{100, 1, 0}}));
  bench.table.lease_returned(100, 2);
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).client, kBob) << "although the other demand is deeper";
}

TEST(LeaseTable, OwnIdleLeaseOfAnotherShapeIsAskedFor) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.settle();
  bench.table.demand_changed(kAnn, demand(1, 1, cpu(2)));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{kAnn, 1, 0}}));
}

TEST(LeaseTable, WaitingClientKeepsItsOnlyLeaseAgainstALessDeepDemandOfItsTree) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.settle();
  bench.table.worker_blocked(100);
  bench.table.demand_changed(100, demand(0, 5, cpu(1), 1));
  bench.settle();
  bench.table.demand_changed(kAnn, demand(0, 5, cpu(1)));
  EXPECT_TRUE(only<ReclaimLeases>(bench.settle()).empty());
}

TEST(LeaseTable, DeadWorkersLeaseIsReportedAndGivenBackOnceWhetherBlockedOrNot) {
  for (bool blocked : {false, true}) {
    Bench bench(1);
    bench.join(kAnn);
    bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
    bench.settle();
    if (blocked) bench.table.worker_blocked(100);
    bench.table.worker_left(100);
    EXPECT_EQ(bench.settle(), (std::vector<Command>{LeaseLost{1, kAnn, 100}}));
    EXPECT_EQ(bench.table.free(), cpu(1));
    bench.table.worker_left(100);
    bench.table.lease_returned(kAnn, 1);
    EXPECT_EQ(bench.table.free(), cpu(1));
    EXPECT_EQ(bench.table.state().contradictions, 2u);
  }
}

TEST(LeaseTable, WorkerThatDiesWithALeaseIsReplacedBeforeAnybodyAsks) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 2, cpu(1)));
  bench.settle();
  bench.table.lease_returned(kAnn, 1);
  bench.take();
  bench.table.worker_left(100);
  EXPECT_EQ(bench.take(), (std::vector<Command>{LeaseLost{2, kAnn, 100}, StartWorker{0}})) << "an idle one is no spare";
  EXPECT_TRUE(bench.settle().empty()) << "one for one";
}

TEST(LeaseTable, LostWorkersAreReplacedUpToTheCpusAndTheLimit) {
  Bench more_than_cpus(1, 8);
  more_than_cpus.join(kAnn);
  more_than_cpus.table.demand_changed(kAnn, demand(0, 2, ResourceSet()));
  more_than_cpus.settle();
  more_than_cpus.table.worker_left(100);
  EXPECT_EQ(more_than_cpus.take(), (std::vector<Command>{LeaseLost{2, kAnn, 100}}));

  Bench another_key(2, 2);
  another_key.join(kAnn);
  another_key.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  another_key.table.demand_changed(kAnn, demand(1, 1, cpu(1), 0, 7));
  another_key.settle();
  another_key.table.demand_changed(kAnn, demand(1, 1, cpu(1), 0, 7));
  another_key.table.worker_left(100);
  EXPECT_EQ(only<StartWorker>(another_key.take()).size(), 1u) << "the demand has the place; the lost one waits";
}

TEST(LeaseTable, LeavingClientsWorkersAreKilledAndItsResourcesComeWithTheirDeath) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 3, cpu(1)));
  bench.settle();
  bench.table.client_left(kAnn);
  EXPECT_EQ(bench.settle(), (std::vector<Command>{StopWorker{101, true}, StopWorker{100, true}}));
  EXPECT_TRUE(bench.table.state().demands.empty());
  EXPECT_TRUE(bench.table.free().empty());
  bench.table.worker_left(100);
  bench.table.worker_left(101);
  EXPECT_TRUE(bench.settle().empty());
  EXPECT_EQ(bench.table.free(), cpu(2));
}

TEST(LeaseTable, DeathOfAWorkerKillsTheWorkersItLeased) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.settle();
  bench.table.demand_changed(100, demand(0, 1, cpu(1), 1));
  bench.settle();
  bench.table.worker_left(100);
  EXPECT_EQ(bench.settle(), (std::vector<Command>{StopWorker{101, true}, LeaseLost{1, kAnn, 100}}));
}

TEST(LeaseTable, RetiringWorkerIsGrantedToNobody) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 2, cpu(1)));
  bench.settle();
  bench.table.worker_retiring(100);
  bench.table.lease_returned(kAnn, 1);
  EXPECT_EQ(only<GrantLease>(bench.settle()), (std::vector<GrantLease>{{2, kAnn, 0, 101, {}}}));
}

TEST(LeaseTable, KillAskedByTheHolderStopsTheWorker) {
  Bench bench(1);
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.settle();
  bench.table.lease_kill_asked(kBob, 1);
  EXPECT_TRUE(bench.settle().empty());
  bench.table.lease_kill_asked(kAnn, 1);
  EXPECT_EQ(bench.settle(), (std::vector<Command>{StopWorker{100, true}}));
}

TEST(LeaseTable, DeadlockIsReportedOnceForTheDeepestDemand) {
  Bench bench(1, 1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 2, cpu(1)));
  bench.settle();
  bench.table.demand_changed(100, demand(4, 1, cpu(1), 1));
  bench.settle();
  EXPECT_FALSE(bench.table.deadlock_suspected());
  bench.table.worker_blocked(100);
  EXPECT_TRUE(bench.settle().empty());
  ASSERT_TRUE(bench.table.deadlock_suspected());
  bench.table.deadlock_stood();
  const auto reports = only<RefuseDemand>(bench.settle());
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].client, 100u);
  EXPECT_EQ(reports[0].demand, 4u);
  EXPECT_EQ(reports[0].code, StatusCode::kDeadlock);
  EXPECT_EQ(reports[0].reason, "waits: 1 workers exist, the limit, and all of them wait themselves");
  bench.table.deadlock_stood();
  EXPECT_EQ(only<RefuseDemand>(bench.settle()).at(0).client, kAnn) << "the next";
  EXPECT_FALSE(bench.table.deadlock_suspected());
  bench.table.demand_changed(100, demand(4, 1, cpu(1), 1));
  EXPECT_TRUE(bench.table.deadlock_suspected()) << "a change makes it new";
}

TEST(LeaseTable, ThreeFailedStartsRefuseTheDemandUntilItChanges) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(bench.take(), (std::vector<Command>{StartWorker{0}}));
    bench.table.start_failed(0);
  }
  const auto reports = only<RefuseDemand>(bench.take());
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].code, StatusCode::kUnavailable);
  EXPECT_EQ(reports[0].reason, "its workers cannot be started: the last 3 starts failed");
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  EXPECT_EQ(bench.take(), (std::vector<Command>{StartWorker{0}}));
}

std::vector<Command> ask_for_one(Bench& bench) {
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  return bench.settle();
}

void let_die_unused(Bench& bench, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto grants = only<GrantLease>(ask_for_one(bench));
    ASSERT_EQ(grants.size(), 1u);
    bench.table.worker_left(grants[0].worker, true);
  }
}

TEST(LeaseTable, WorkersThatDieUnusedOneAfterTheOtherRefuseTheDemandAndGetOneMoreAttempt) {
  Bench bench(1);
  bench.join(kAnn);
  let_die_unused(bench, WorkerTable::kUnusedDeaths);
  const auto reports = only<RefuseDemand>(ask_for_one(bench));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].code, StatusCode::kUnavailable);
  EXPECT_EQ(reports[0].reason, "its workers do no work: the last 10 died before their first task");

  let_die_unused(bench, 1);  // one more attempt
  EXPECT_EQ(only<RefuseDemand>(ask_for_one(bench)).size(), 1u);
}

TEST(LeaseTable, WorkerThatComesBackOrDiesUsedEndsTheRowOfUnusedDeaths) {
  for (bool comes_back : {true, false}) {
    Bench bench(1);
    bench.join(kAnn);
    let_die_unused(bench, WorkerTable::kUnusedDeaths - 1);
    const auto grants = only<GrantLease>(ask_for_one(bench));
    ASSERT_EQ(grants.size(), 1u);
    comes_back ? bench.table.lease_returned(kAnn, grants[0].lease) : bench.table.worker_left(grants[0].worker, false);
    bench.settle();
    let_die_unused(bench, WorkerTable::kUnusedDeaths - 1);
    EXPECT_TRUE(only<RefuseDemand>(ask_for_one(bench)).empty());
  }
}

TEST(LeaseTable, DemandOfABrokenKeyKeepsNothingFromOthers) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1), 9, 66));
  for (int i = 0; i < 3; ++i) {
    bench.take();
    bench.table.start_failed(66);
  }
  bench.table.demand_changed(kAnn, demand(1, 1, cpu(1)));
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).demand, 1u);
}

TEST(LeaseTable, PrestartsNoMoreThanTheCpusCouldUse) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.supply().prestart(3, 9);
  EXPECT_EQ(bench.take(), (std::vector<Command>{StartWorker{3}, StartWorker{3}}));
}

TEST(LeaseTable, WaitingSaysWhatIsMissing) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(2)));
  bench.take();
  EXPECT_EQ(reason_of(bench.table, 0).text, "waits for a worker to start");
  bench.bring_up(0);
  bench.take();
  bench.table.demand_changed(kAnn, demand(1, 1, cpu(1)));
  bench.table.demand_changed(kAnn, demand(2, 1, cpu(9)));
  bench.take();
  EXPECT_EQ(reason_of(bench.table, 0).text, "waits for CPU 1: the node has CPU 2, of which 0 is free");
  EXPECT_EQ(reason_of(bench.table, 1).text, "waits for CPU 9: the node has CPU 2 in all");
  EXPECT_EQ(reason_of(bench.table, 0).way_on,
            "It starts when running tasks give back enough; nothing needs to be done.");
  EXPECT_EQ(reason_of(bench.table, 1).way_on,
            "It can never start here: cancel it and ask for less, or start a node with more.");
}

DemandChange dedicated(ResourceSet resources = {}, WorkerKeyId key = 0) {
  DemandChange change = demand(0, 1, std::move(resources), 0, key);
  change.dedicated = true;
  return change;
}

constexpr ProcessId kHome = 50;  // and above: homes of actors

TEST(LeaseTable, IdleActorsDoNotCountTowardsTheWorkerLimit) {
  Bench bench(1, 2);
  bench.join(kAnn);
  for (ProcessId home = kHome; home < kHome + 30; ++home) {
    bench.table.client_joined(home, kAnn);
    bench.table.demand_changed(home, dedicated());
  }
  EXPECT_EQ(only<GrantLease>(bench.settle()).size(), 30u);
  bench.table.demand_changed(kAnn, demand(0, 5, ResourceSet()));
  EXPECT_EQ(only<GrantLease>(bench.settle()).size(), 2u) << "of tasks, the limit";
}

TEST(LeaseTable, ActorStartsAlthoughAllWorkersAreTaken) {
  Bench bench(1, 1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 9, cpu(1)));
  bench.settle();
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated());
  EXPECT_EQ(bench.settle(), (std::vector<Command>{GrantLease{2, kHome, 0, 101, {}}}));
}

TEST(LeaseTable, ActorTakesAnIdleWorkerOfItsKey) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.supply().prestart(0, 1);
  bench.settle();
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated());
  EXPECT_EQ(bench.take(), (std::vector<Command>{GrantLease{1, kHome, 0, 100, {}}}));
}

TEST(LeaseTable, ActorWithoutResourcesGoesBeforeTasksThatWaitLonger) {
  Bench bench(1, 1);
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1), 7));
  bench.table.client_joined(kHome, kBob);
  bench.table.demand_changed(kHome, dedicated());
  EXPECT_EQ(bench.take(), (std::vector<Command>{StartWorker{0}, StartWorker{0}}));
  bench.bring_up(0);
  EXPECT_EQ(bench.take(), (std::vector<Command>{GrantLease{1, kHome, 0, 100, {}}}));
}

TEST(LeaseTable, ActorWithResourcesWaitsForThemWithAReasonAndAsksForLeases) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 9, cpu(1)));
  bench.settle();
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated(cpu(1)));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{kAnn, 1, 0}}));
  EXPECT_EQ(why_waiting(bench.table.state(), kHome).text, "waits for CPU 1: the node has CPU 2, of which 0 is free");
  bench.table.lease_returned(kAnn, 1);
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).client, kHome);
  EXPECT_EQ(why_waiting(bench.table.state(), kHome).text, "");
}

TEST(LeaseTable, BlockedActorKeepsItsResources) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated(cpu(1)));
  bench.settle();
  EXPECT_FALSE(bench.table.ledger().find(1)->blocked);
  bench.table.worker_blocked(100);
  EXPECT_TRUE(bench.table.ledger().find(1)->blocked);
  EXPECT_TRUE(bench.table.free().empty());
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  EXPECT_TRUE(bench.settle().empty());
  bench.table.worker_unblocked(100);
  EXPECT_TRUE(bench.table.free().empty());
  EXPECT_EQ(bench.table.state().contradictions, 0u);
}

TEST(LeaseTable, DemandThatCannotBeMetBesideActorsKeepsNothingFromOthers) {
  Bench bench(2);
  bench.join(kAnn);
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated(cpu(1)));
  bench.settle();
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(2), 9));
  bench.table.demand_changed(kAnn, demand(1, 1, cpu(1)));
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).demand, 1u);
  EXPECT_EQ(why_waiting(bench.table.state(), kAnn).text, "waits for CPU 2: the node has CPU 2, and actors leave 1");
  bench.table.worker_left(100);
  bench.table.lease_returned(kAnn, 2);
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).demand, 0u) << "once the actor has ended";
}

TEST(LeaseTable, ActorsLeaseIsNeverAskedBack) {
  Bench bench(1);
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated(cpu(1)));
  bench.settle();
  bench.table.demand_changed(kBob, demand(0, 1, cpu(1), 5));
  EXPECT_TRUE(bench.settle().empty());
}

TEST(LeaseTable, ReturnedDedicatedLeaseEndsItsWorkerAndHoldsUntilThen) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated(cpu(1)));
  bench.settle();
  bench.table.lease_returned(kHome, 1);
  EXPECT_EQ(bench.settle(), (std::vector<Command>{StopWorker{100, false}}));
  EXPECT_TRUE(bench.table.free().empty());
  bench.table.lease_returned(kHome, 1);
  EXPECT_TRUE(bench.settle().empty()) << "told once";
  bench.table.worker_left(100);
  EXPECT_EQ(bench.settle(), (std::vector<Command>{LeaseLost{1, kHome, 100}}));
  EXPECT_EQ(bench.table.free(), cpu(1));
}

TEST(LeaseTable, LeavingHomeKillsItsWorker) {
  Bench bench(1);
  bench.join(kAnn);
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated());
  bench.settle();
  bench.table.client_left(kHome);
  EXPECT_EQ(bench.settle(), (std::vector<Command>{StopWorker{100, true}}));
}

TEST(LeaseTable, WorkerStartedForAnActorThatIsGoneEndsWhenItIsOneTooMany) {
  Bench bench(1, 1);
  bench.join(kAnn);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.settle();
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated());
  EXPECT_EQ(bench.take(), (std::vector<Command>{StartWorker{0}}));
  bench.table.client_left(kHome);
  bench.bring_up(0);
  EXPECT_EQ(bench.take(), (std::vector<Command>{StopWorker{101, false}}));
}

TEST(LeaseTable, TasksOfAnActorBelongToTheTreeOfItsRoot) {
  Bench bench(2);
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated());
  bench.settle();
  EXPECT_EQ(bench.table.ledger().tree(100), kAnn);
  bench.table.demand_changed(100, demand(0, 9, cpu(1), 4));
  EXPECT_EQ(only<GrantLease>(bench.settle()).size(), 2u);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.table.demand_changed(kBob, demand(0, 1, cpu(1)));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{100, 1, 0}}));
  bench.table.lease_returned(100, 2);
  EXPECT_EQ(only<GrantLease>(bench.settle()).at(0).client, kBob) << "whose tree has nothing";
}

TEST(LeaseTable, ProgramWithAnIdleActorHasNothingRunning) {
  Bench bench(1);
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.client_joined(kHome, kBob);
  bench.table.demand_changed(kHome, dedicated());
  bench.settle();
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.settle();
  bench.table.worker_blocked(101);
  bench.table.demand_changed(101, demand(0, 9, cpu(1), 3));
  bench.settle();
  bench.table.demand_changed(kBob, demand(0, 1, cpu(1)));
  EXPECT_EQ(bench.settle(), (std::vector<Command>{ReclaimLeases{101, 1, 0}}));
}

TEST(LeaseTable, DeadlockIsSeenBesideActorsAndNotWhileOneStarts) {
  Bench bench(1, 1);
  bench.join(kAnn);
  bench.table.client_joined(kHome, kAnn);
  bench.table.demand_changed(kHome, dedicated());
  bench.settle();
  bench.table.demand_changed(kAnn, demand(0, 2, cpu(1)));
  bench.settle();
  bench.table.worker_blocked(101);
  EXPECT_TRUE(bench.settle().empty());
  EXPECT_TRUE(bench.table.deadlock_suspected());
  bench.table.client_joined(kHome + 1, kAnn);
  bench.table.demand_changed(kHome + 1, dedicated());
  EXPECT_EQ(bench.take(), (std::vector<Command>{StartWorker{0}}));
  EXPECT_FALSE(bench.table.deadlock_suspected()) << "a task may wait for it";
  bench.bring_up(0);
  bench.take();
  ASSERT_TRUE(bench.table.deadlock_suspected());
  bench.table.deadlock_stood();
  EXPECT_EQ(only<RefuseDemand>(bench.settle()).at(0).client, kAnn);
}

TEST(LeaseTable, IdleWorkerWithoutAPlaceDoesNotHideADeadlock) {
  ResourceSet gpu;
  gpu.set_units("GPU", ResourceSet::kUnitsPerOne);
  ResourceSet total = cpu(1);
  total.add(gpu);
  Bench bench({.total = total, .max_workers = 1});
  bench.join(kAnn);
  bench.join(kBob);
  bench.table.demand_changed(kAnn, demand(0, 1, gpu, 0, device_key(0)));
  bench.settle();
  bench.table.demand_changed(100, demand(0, 1, cpu(1), 1));
  bench.table.lease_returned(kAnn, 1);
  bench.settle();
  ASSERT_TRUE(bench.table.deadlock_suspected()) << "100 has served, and keeps its place while it waits";
  bench.table.demand_changed(kBob, dedicated());
  EXPECT_EQ(bench.take(), (std::vector<Command>{StartWorker{0}}));
  bench.table.client_left(kBob);
  bench.bring_up(0);
  EXPECT_TRUE(only<GrantLease>(bench.settle()).empty());
  EXPECT_TRUE(bench.table.deadlock_suspected());
}

TEST(LeaseTable, MessagesOfStrangersChangeNothing) {
  Bench bench(1);
  bench.table.demand_changed(kAnn, demand(0, 1, cpu(1)));
  bench.table.client_left(kAnn);
  bench.table.worker_blocked(9);
  bench.table.worker_unblocked(9);
  bench.table.worker_ready(9);
  bench.table.worker_retiring(9);
  bench.table.worker_left(9);
  bench.table.lease_returned(kAnn, 1);
  bench.table.start_failed(0);
  EXPECT_TRUE(bench.take().empty());
  EXPECT_EQ(bench.table.state().contradictions, 9u);
}

}  // namespace
}  // namespace fray::scheduler
