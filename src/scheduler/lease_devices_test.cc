// Leases with devices, and worker keys that nobody uses any more, in the LeaseTable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/lease_table.h"
#include "scheduler/lease_test_names.h"

namespace fray::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr WorkerKeyId kPlain = 3;

ResourceSet amounts(double cpus, double gpus) {
  ResourceSet set;
  EXPECT_TRUE(set.set("CPU", cpus).is_ok());
  EXPECT_TRUE(set.set("GPU", gpus).is_ok());
  return set;
}

// Carries starts and stops out at once; workers are numbered from 100.
class DeviceBench {
 public:
  explicit DeviceBench(double gpus, std::uint32_t max_workers = 16)
      : table({.total = amounts(4, gpus), .max_workers = max_workers}) {
    for (ProcessId driver : {kAnn, kBob}) table.client_joined(driver);
  }

  void wants(ProcessId client, std::uint32_t number, std::uint32_t count, double gpus, double cpus = 0) {
    const ResourceSet resources = amounts(cpus, gpus);
    table.demand_changed(
        client,
        {.demand = number, .count = count, .shape = {.resources = resources, .key = key_for(kPlain, resources)}});
  }
  // Grants and requests. Workers that are told to end have left when it returns, unless `lingering`.
  std::vector<GrantLease> settle(bool lingering = false) {
    std::vector<GrantLease> grants;
    for (bool busy = true; busy;) {
      busy = false;
      for (Command& command : table.take_commands()) {
        busy = true;
        if (const auto* start = std::get_if<StartWorker>(&command)) bring_up(start->key);
        if (const auto* stop = std::get_if<StopWorker>(&command)) {
          stopped.push_back(stop->worker);
          if (!lingering) table.worker_left(stop->worker);
        }
        if (const auto* reclaim = std::get_if<ReclaimLeases>(&command)) asked_back += reclaim->count;
        if (const auto* grant = std::get_if<GrantLease>(&command)) grants.push_back(*grant);
      }
    }
    return grants;
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
  std::vector<ProcessId> stopped;
  std::uint32_t asked_back = 0;
};

TEST(LeaseDevices, GrantSaysWhichDevices) {
  DeviceBench bench(2);
  bench.wants(kAnn, 0, 2, 1);
  std::vector<GrantLease> grants = bench.settle();
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_THAT(grants[0].devices["GPU"], ElementsAre(0));
  EXPECT_THAT(grants[1].devices["GPU"], ElementsAre(1));
}

TEST(LeaseDevices, WorkerServesOneLeaseAndHasItsDevicesUntilItIsGone) {
  DeviceBench bench(1);
  bench.wants(kAnn, 0, 1, 1);
  const GrantLease first = bench.settle().at(0);
  bench.table.lease_returned(kAnn, first.lease);
  bench.wants(kBob, 0, 1, 1);
  EXPECT_THAT(bench.settle(true), IsEmpty());
  EXPECT_THAT(bench.stopped, ElementsAre(first.worker));
  EXPECT_NE(reason_of(bench.table, 0).text.find("devices that are still in use"), std::string::npos);
  bench.table.worker_left(first.worker);
  const GrantLease second = bench.settle().at(0);
  EXPECT_NE(second.worker, first.worker);
  EXPECT_THAT(second.devices.at("GPU"), ElementsAre(0));
}

TEST(LeaseDevices, WorkerWhoseOwnTasksGoOnStaysAndYields) {
  DeviceBench bench(1);
  bench.wants(kAnn, 0, 1, 1);
  const GrantLease first = bench.settle().at(0);
  bench.wants(first.worker, 0, 1, 1);
  bench.table.lease_returned(kAnn, first.lease);
  const GrantLease nested = bench.settle().at(0);
  EXPECT_EQ(nested.client, first.worker);
  EXPECT_THAT(nested.devices.at("GPU"), ElementsAre(0));
  EXPECT_THAT(bench.stopped, IsEmpty());
  bench.table.lease_returned(first.worker, nested.lease);
  bench.settle();
  EXPECT_THAT(bench.stopped, testing::UnorderedElementsAre(first.worker, nested.worker));
}

TEST(LeaseDevices, PlainWorkersAreNotBoundAndBoundOnesNotPlain) {
  DeviceBench bench(1);
  const ProcessId plain = bench.bring_up(kPlain);
  bench.wants(kAnn, 0, 1, 1);
  EXPECT_NE(bench.settle().at(0).worker, plain);
  bench.wants(kAnn, 1, 1, 0);
  const GrantLease grant = bench.settle().at(0);
  EXPECT_EQ(grant.worker, plain);
  EXPECT_TRUE(grant.devices.empty());
}

TEST(LeaseDevices, SharesAreAskedBackUntilOneDeviceIsWhole) {
  DeviceBench bench(2);
  bench.wants(kAnn, 0, 4, 0.6);
  EXPECT_EQ(bench.settle().size(), 2u);
  bench.wants(kBob, 0, 1, 1);
  EXPECT_THAT(bench.settle(), IsEmpty());
  EXPECT_EQ(bench.asked_back, 2u) << "0.8 is free, and of no use; 1.4 after one more is no whole for sure";
}

TEST(LeaseDevices, DemandThatWaitsForADeviceDoesNotKeepItsClientFromAskingForMore) {
  DeviceBench bench(1);
  bench.wants(kAnn, 0, 1, 1);
  const GrantLease bound = bench.settle().at(0);
  bench.wants(kAnn, 1, 2, 0, 2);
  ASSERT_EQ(bench.settle().size(), 2u);
  bench.table.lease_returned(kAnn, bound.lease);
  bench.wants(kBob, 0, 1, 1);
  bench.wants(kBob, 1, 1, 0, 1);
  EXPECT_THAT(bench.settle(true), IsEmpty()) << "the worker that had the device has not left yet";
  EXPECT_EQ(bench.asked_back, 1u);
}

TEST(LeaseDevices, IdleWorkerMakesWayWhereItsDemandHasNoDeviceYet) {
  DeviceBench bench(2, 3);
  bench.wants(kAnn, 0, 2, 0.6);
  ASSERT_EQ(bench.settle().size(), 2u);
  const ProcessId idle = bench.bring_up(device_key(kPlain));
  bench.wants(kBob, 0, 1, 0.8);  // is free, and on no single device
  bench.wants(kAnn, 1, 1, 0);
  const std::vector<GrantLease> grants = bench.settle();
  EXPECT_THAT(bench.stopped, ElementsAre(idle));
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].demand, 1u);
}

TEST(LeaseKeys, IdleWorkersOfAnUnusedKeyEndAndItIsForgotten) {
  DeviceBench bench(0);
  const ProcessId worker = bench.bring_up(kPlain);
  bench.settle();
  EXPECT_THAT(bench.stopped, IsEmpty()) << "kept for the next demand";
  bench.table.supply().key_unused(kPlain, true);
  bench.settle();
  EXPECT_THAT(bench.stopped, ElementsAre(worker));
  bench.table.supply().forget_key(kPlain);
  EXPECT_TRUE(bench.table.workers().keys().empty());
}

TEST(LeaseKeys, KeyThatIsUsedAgainKeepsItsWorkers) {
  DeviceBench bench(0);
  bench.bring_up(kPlain);
  bench.table.supply().key_unused(kPlain, true);
  bench.table.supply().key_unused(kPlain, false);
  bench.settle();
  EXPECT_THAT(bench.stopped, IsEmpty());
}

TEST(LeaseKeys, KeyIsInUseWhileADemandWaitsAndWhileAWorkerIsLeased) {
  LeaseTable table({.total = cpu(1), .max_workers = 4});
  table.client_joined(kAnn);
  EXPECT_TRUE(table.supply().keys_in_use().empty());
  table.demand_changed(kAnn, {.demand = 0, .count = 1, .shape = {.resources = cpu(1), .key = 7}});
  EXPECT_THAT(table.supply().keys_in_use(), ElementsAre(7));
  ASSERT_THAT(table.take_commands(), ElementsAre(Command(StartWorker{7})));
  table.demand_changed(kAnn, {.demand = 0, .count = 0, .shape = {.resources = cpu(1), .key = 7}});
  EXPECT_THAT(table.supply().keys_in_use(), ElementsAre(7)) << "a worker of it is on its way";
  table.worker_starting(10, 7);
  EXPECT_THAT(table.supply().keys_in_use(), ElementsAre(7));
  table.worker_ready(10);
  EXPECT_TRUE(table.supply().keys_in_use().empty()) << "an idle worker is no use";
  table.demand_changed(kAnn, {.demand = 0, .count = 1, .shape = {.resources = cpu(1), .key = 7}});
  table.take_commands();
  EXPECT_THAT(table.supply().keys_in_use(), ElementsAre(7)) << "granted";
  table.lease_returned(kAnn, 1);
  EXPECT_TRUE(table.supply().keys_in_use().empty());
}

TEST(LeaseKeys, KeyWithWorkersIsNotForgotten) {
  DeviceBench bench(0);
  bench.bring_up(kPlain);
  bench.table.supply().forget_key(kPlain);
  EXPECT_FALSE(bench.table.workers().keys().empty());
}

TEST(LeaseDevices, WorkOfAReservationIsBoundToItsDevices) {
  constexpr ProcessId kHome = 50;
  DeviceBench bench(3);
  ResourceSet offered;
  ResourceSet inside;
  EXPECT_TRUE(offered.set("GPU@a", 2).is_ok());
  EXPECT_TRUE(inside.set("GPU@a", 1).is_ok());
  bench.wants(kBob, 0, 1, 1);
  bench.settle();
  bench.table.reservations().set_aside(kHome, kAnn, amounts(0, 2), offered);
  const WorkerKeyId key = key_for(kPlain, inside);
  EXPECT_EQ(key, device_key(kPlain));
  bench.table.demand_changed(kAnn, {.demand = 0, .count = 3, .shape = {.resources = inside, .key = key}});
  const std::vector<GrantLease> grants = bench.settle();
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_EQ(grants[0].devices, (DeviceSet{{"GPU", {1}}}));
  EXPECT_EQ(grants[1].devices, (DeviceSet{{"GPU", {2}}}));
  bench.table.reservations().put_back(kHome);
  bench.wants(kBob, 1, 1, 1);
  EXPECT_THAT(bench.settle(true), IsEmpty()) << "those who held them have not left";
  for (const GrantLease& grant : grants) bench.table.worker_left(grant.worker);
  const std::vector<GrantLease> after = bench.settle();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].devices, (DeviceSet{{"GPU", {1}}}));
  EXPECT_EQ(bench.table.state().contradictions, 0u);
}

}  // namespace
}  // namespace fray::scheduler
