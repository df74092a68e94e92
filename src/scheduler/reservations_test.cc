// Reservations in the LeaseTable: resources that are set aside together, and what asks for their part of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "scheduler/lease_table.h"
#include "scheduler/lease_test_names.h"

namespace fray::scheduler {
namespace {

constexpr ProcessId kFirstHome = 50;
constexpr ProcessId kSecondHome = 51;

ResourceSet amount_of(const char* name, double amount) {
  ResourceSet set;
  EXPECT_TRUE(set.set(name, amount).is_ok());
  return set;
}

class LeaseReservations : public testing::Test {
 protected:
  LeaseReservations() : table_({.total = cpu(3), .max_workers = 8}) {
    table_.client_joined(kAnn);
    table_.client_joined(kBob);
  }
  void demand(ProcessId client, std::uint32_t number, std::uint32_t count, const ResourceSet& resources) {
    table_.demand_changed(client, {.demand = number, .count = count, .shape = {.resources = resources}});
  }
  // Carries out starts and kills.
  void settle() {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (const Command& command : table_.take_commands()) {
        if (const auto* grant = std::get_if<GrantLease>(&command)) grants_.push_back(*grant);
        if (const auto* refusal = std::get_if<RefuseDemand>(&command)) refused_.push_back(*refusal);
        if (const auto* stop = std::get_if<StopWorker>(&command)) {
          killed_.insert(stop->worker);
          table_.worker_left(stop->worker);
          goes_on = true;
        }
        if (!std::holds_alternative<StartWorker>(command)) continue;
        table_.worker_starting(next_worker_, 0);
        table_.client_joined(next_worker_);
        table_.worker_ready(next_worker_++);
        goes_on = true;
      }
    }
  }

  LeaseTable table_;
  ProcessId next_worker_ = 100;
  std::vector<GrantLease> grants_;
  std::vector<RefuseDemand> refused_;
  std::set<ProcessId> killed_;
};

TEST_F(LeaseReservations, WhatIsSetAsideIsFreeForThoseWhoAskForItsOfferAlone) {
  table_.reservations().set_aside(kFirstHome, kAnn, cpu(2), amount_of("CPU@a", 2));
  settle();
  EXPECT_TRUE(table_.reservations().is_reserved(kFirstHome));
  EXPECT_EQ(table_.free().amount("CPU"), 1);
  demand(kAnn, 0, 5, amount_of("CPU@a", 1));
  demand(kBob, 0, 5, cpu(1));
  settle();
  EXPECT_EQ(grants_.size(), 3u) << "two inside and one outside";
  EXPECT_EQ(table_.free(), ResourceSet());
  EXPECT_EQ(next_worker_, 103u) << "the reservation itself has no worker";
}

TEST_F(LeaseReservations, AReservationTakesAllOrWaits) {
  demand(kBob, 0, 2, cpu(1));
  settle();
  table_.reservations().set_aside(kFirstHome, kAnn, cpu(3), amount_of("CPU@a", 3));
  demand(kAnn, 0, 1, amount_of("CPU@a", 1));
  settle();
  EXPECT_FALSE(table_.reservations().is_reserved(kFirstHome));
  EXPECT_NE(why_waiting(table_.state(), kFirstHome).text, "");
  EXPECT_EQ(grants_.size(), 2u) << "what asks for its offer waits with it";
  for (const GrantLease& grant : std::exchange(grants_, {})) table_.lease_returned(kBob, grant.lease);
  demand(kBob, 0, 0, cpu(1));
  settle();
  EXPECT_TRUE(table_.reservations().is_reserved(kFirstHome));
  EXPECT_EQ(grants_.size(), 1u);
  EXPECT_TRUE(refused_.empty());
}

TEST_F(LeaseReservations, ReservationsAskForLeasesThatAreKept) {
  demand(kBob, 0, 9, cpu(1));
  settle();
  ASSERT_EQ(grants_.size(), 3u);
  table_.reservations().set_aside(kFirstHome, kAnn, cpu(1), amount_of("CPU@a", 1));
  std::uint32_t asked = 0;
  for (const Command& command : table_.take_commands()) {
    if (const auto* reclaim = std::get_if<ReclaimLeases>(&command)) asked += reclaim->count;
  }
  EXPECT_EQ(asked, 1u);
  table_.lease_returned(kBob, grants_[0].lease);
  settle();
  EXPECT_TRUE(table_.reservations().is_reserved(kFirstHome)) << "it comes before a flood of tasks";
}

TEST_F(LeaseReservations, TasksThatWaitDoNotOvertakeAReservationForMoreThanOneOfThemNeeds) {
  demand(kAnn, 0, 9, cpu(1));
  settle();
  ASSERT_EQ(grants_.size(), 3u);
  table_.reservations().set_aside(kFirstHome, kAnn, cpu(3), amount_of("CPU@a", 3));
  settle();
  for (std::size_t lease = 0; lease < 3; ++lease) {
    table_.lease_returned(kAnn, grants_[lease].lease);
    settle();
  }
  EXPECT_EQ(grants_.size(), 3u) << "what comes free is kept for the reservation";
  EXPECT_TRUE(table_.reservations().is_reserved(kFirstHome));
}

TEST_F(LeaseReservations, ABlockedWorkerLendsItsPartToOthersOfTheReservation) {
  table_.reservations().set_aside(kFirstHome, kAnn, cpu(1), amount_of("CPU@a", 1));
  demand(kAnn, 0, 2, amount_of("CPU@a", 1));
  settle();
  ASSERT_EQ(grants_.size(), 1u);
  table_.worker_blocked(grants_[0].worker);
  settle();
  ASSERT_EQ(grants_.size(), 2u);
  table_.worker_unblocked(grants_[0].worker);
  EXPECT_EQ(table_.free().amount("CPU@a"), -1);
  EXPECT_EQ(table_.free().amount("CPU"), 2) << "nothing of it came from outside";
}

TEST_F(LeaseReservations, WhoWaitsForATakenBundleKeepsNothingOfTheOthers) {
  ResourceSet offered = amount_of("CPU@a", 2);
  ResourceSet of_first = amount_of("CPU@a", 1);
  ResourceSet of_second = of_first;
  of_first.add(amount_of("CPU@a.0", 1));
  of_second.add(amount_of("CPU@a.1", 1));
  offered.add(amount_of("CPU@a.0", 1));
  offered.add(amount_of("CPU@a.1", 1));
  table_.reservations().set_aside(kFirstHome, kAnn, cpu(2), offered);
  demand(kAnn, 0, 2, of_first);
  settle();
  ASSERT_EQ(grants_.size(), 1u);
  demand(kAnn, 1, 1, of_second);
  settle();
  EXPECT_EQ(grants_.size(), 2u);
}

TEST_F(LeaseReservations, TheEndOfAReservationEndsWhatRunsInItAndRefusesWhatWaits) {
  table_.reservations().set_aside(kFirstHome, kAnn, cpu(2), amount_of("CPU@a", 2));
  demand(kAnn, 0, 3, amount_of("CPU@a", 1));
  demand(kBob, 0, 1, cpu(1));
  settle();
  ASSERT_EQ(grants_.size(), 3u);
  const auto of_ann = [](const GrantLease& grant) { return grant.client == kAnn; };
  table_.worker_blocked(std::find_if(grants_.begin(), grants_.end(), of_ann)->worker);
  table_.reservations().put_back(kFirstHome);
  table_.reservations().put_back(kFirstHome);
  EXPECT_EQ(table_.state().contradictions, 1u) << "it has ended once";
  settle();
  std::set<ProcessId> inside;
  for (const GrantLease& grant : grants_) {
    if (of_ann(grant)) inside.insert(grant.worker);
  }
  EXPECT_EQ(killed_, inside);
  ASSERT_EQ(refused_.size(), 1u);
  EXPECT_EQ(refused_[0].code, StatusCode::kReservationEnded);
  EXPECT_EQ(table_.free().to_string(), "CPU 2") << "nothing of its offer is left";
  demand(kAnn, 0, 1, amount_of("CPU@a", 1));
  settle();
  EXPECT_EQ(refused_.size(), 2u) << "nor is there anything to ask for";
  EXPECT_FALSE(table_.deadlock_suspected());
}

TEST_F(LeaseReservations, OneThatEndsBeforeItHasItsResourcesLeavesNothing) {
  table_.reservations().set_aside(kFirstHome, kAnn, cpu(3), amount_of("CPU@a", 3));
  table_.reservations().set_aside(kSecondHome, kAnn, cpu(1), amount_of("CPU@b", 1));
  settle();
  EXPECT_NE(table_.reservations().is_reserved(kFirstHome), table_.reservations().is_reserved(kSecondHome));
  table_.reservations().put_back(kSecondHome);
  table_.reservations().put_back(kFirstHome);
  settle();
  EXPECT_EQ(table_.free(), cpu(3));
  EXPECT_EQ(table_.ledger().total(), cpu(3));
  EXPECT_TRUE(table_.ledger().leases().empty());
  EXPECT_EQ(table_.state().contradictions, 0u);
}

TEST_F(LeaseReservations, AReservationComesWhereNoWorkerCanBeStarted) {
  demand(kAnn, 0, 1, cpu(1));
  for (std::uint32_t attempt = 0; attempt < WorkerTable::kStartAttempts; ++attempt) {
    table_.take_commands();
    table_.start_failed(0);
  }
  settle();
  ASSERT_EQ(refused_.size(), 1u);
  table_.reservations().set_aside(kFirstHome, kAnn, cpu(2), amount_of("CPU@a", 2));
  settle();
  EXPECT_TRUE(table_.reservations().is_reserved(kFirstHome));
  EXPECT_EQ(refused_.size(), 1u);
}

TEST_F(LeaseReservations, ReservationsDoNotHideADeadlock) {
  table_.reservations().set_aside(kFirstHome, kAnn, cpu(1), amount_of("CPU@a", 1));
  demand(kAnn, 0, 20, cpu(1));
  settle();
  for (std::size_t i = 0; i < grants_.size(); ++i) {
    table_.worker_blocked(grants_[i].worker);
    settle();
  }
  EXPECT_EQ(grants_.size(), 8u) << "as many workers as there may be";
  EXPECT_TRUE(table_.deadlock_suspected());
}

}  // namespace
}  // namespace fray::scheduler
