#include "scheduler/device_table.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace fray::scheduler {
namespace {

ResourceSet gpus(double amount) {
  ResourceSet set;
  EXPECT_TRUE(set.set("GPU", amount).is_ok());
  return set;
}

using Indices = std::vector<std::uint32_t>;

TEST(DeviceTable, WholeAmountsGetDevicesOfTheirOwn) {
  DeviceTable table(gpus(4));
  EXPECT_EQ(table.take(1, gpus(2))["GPU"], (Indices{0, 1}));
  EXPECT_EQ(table.take(2, gpus(1))["GPU"], (Indices{2}));
  EXPECT_FALSE(table.fits(gpus(2)));
  EXPECT_TRUE(table.fits(gpus(1)));
  table.left(1);
  EXPECT_EQ(table.take(3, gpus(3))["GPU"], (Indices{0, 1, 3}));
}

TEST(DeviceTable, FractionsShareTheFullestThatHasRoom) {
  DeviceTable table(gpus(2));
  EXPECT_EQ(table.take(1, gpus(0.5))["GPU"], (Indices{0}));
  EXPECT_EQ(table.take(2, gpus(0.25))["GPU"], (Indices{0}));
  EXPECT_EQ(table.take(3, gpus(0.5))["GPU"], (Indices{1}));
  EXPECT_EQ(table.take(4, gpus(0.25))["GPU"], (Indices{0}));
  table.left(2);
  table.left(4);
  table.left(3);
  EXPECT_EQ(table.take(5, gpus(1))["GPU"], (Indices{1})) << "device 0 has a share left, and no whole";
}

TEST(DeviceTable, TwoHalvesOnDifferentDevicesAreNoWhole) {
  DeviceTable table(gpus(2));
  table.take(1, gpus(0.5));
  table.take(2, gpus(1));
  table.left(1);
  table.take(3, gpus(0.5));
  EXPECT_FALSE(table.fits(gpus(1)));
  EXPECT_TRUE(table.take(4, gpus(1)).empty());
}

TEST(DeviceTable, YieldedDevicesAreGivenOutLastAndComeBackAtOnce) {
  DeviceTable table(gpus(2));
  table.take(1, gpus(1));
  table.yield(1);
  table.yield(1);
  EXPECT_EQ(table.take(2, gpus(1))["GPU"], (Indices{1}));
  EXPECT_EQ(table.take(3, gpus(1))["GPU"], (Indices{0}));
  table.resume(1);
  table.left(3);
  EXPECT_FALSE(table.fits(gpus(0.5))) << "the one that yielded has it again";
  table.left(1);
  EXPECT_TRUE(table.fits(gpus(1)));
}

TEST(DeviceTable, WhatActorsHaveIsGoneForGoodWhatTasksHaveComesBack) {
  DeviceTable table(gpus(2));
  table.take(1, gpus(1));
  EXPECT_TRUE(table.fits_beside_actors(gpus(2))) << "the task will end";
  table.take(2, gpus(0.5), /*actor=*/true);
  EXPECT_FALSE(table.fits_beside_actors(gpus(2)));
  EXPECT_TRUE(table.fits_beside_actors(gpus(1)));
  EXPECT_TRUE(table.fits_beside_actors(gpus(0.5)));
  table.left(2);
  EXPECT_TRUE(table.fits_beside_actors(gpus(2)));
}

TEST(DeviceTable, WorkerThatYieldedAndLeftIsForgotten) {
  DeviceTable table(gpus(1));
  table.take(1, gpus(1));
  table.yield(1);
  table.left(1);
  table.left(1);
  EXPECT_EQ(table.of(1), nullptr);
  table.take(2, gpus(1));
  EXPECT_FALSE(table.fits(gpus(0.1)));
}

ResourceSet named_amounts(std::initializer_list<std::pair<const char*, double>> named) {
  ResourceSet set;
  for (const auto& [name, amount] : named) EXPECT_TRUE(set.set(name, amount).is_ok());
  return set;
}

TEST(DeviceTable, BundlesOfAReservationHaveDevicesOfTheirOwn) {
  DeviceTable table(gpus(4));
  table.take(1, gpus(1));
  table.take(9, gpus(3), true);
  table.offer(9, named_amounts({{"GPU@a", 3}, {"GPU@a.0", 1}, {"GPU@a.1", 2}}));
  EXPECT_EQ(table.take(2, named_amounts({{"GPU@a", 0.5}, {"GPU@a.0", 0.5}}))["GPU"], (Indices{3}))
      << "the largest came first";
  EXPECT_EQ(table.take(3, named_amounts({{"GPU@a", 1}, {"GPU@a.1", 1}}))["GPU"], (Indices{1}));
  EXPECT_EQ(table.take(4, named_amounts({{"GPU@a", 0.5}, {"GPU@a.0", 0.5}}))["GPU"], (Indices{3}));
  EXPECT_FALSE(table.fits(named_amounts({{"GPU@a", 0.5}, {"GPU@a.0", 0.5}})));
  EXPECT_EQ(table.take(5, named_amounts({{"GPU@a", 1}}))["GPU"], (Indices{2})) << "of any bundle";
  EXPECT_FALSE(table.fits(gpus(1))) << "the others are set aside";
  EXPECT_FALSE(table.fits(named_amounts({{"GPU@b", 1}})));
}

TEST(DeviceTable, SharesOfBundlesLieOnAsFewDevicesAsCanBe) {
  DeviceTable table(gpus(3));
  table.take(9, gpus(2), true);
  table.offer(9, named_amounts({{"GPU@a", 2}, {"GPU@a.0", 0.5}, {"GPU@a.1", 1}, {"GPU@a.2", 0.5}}));
  EXPECT_EQ(table.take(1, named_amounts({{"GPU@a", 1}, {"GPU@a.1", 1}}))["GPU"], (Indices{0}));
  EXPECT_EQ(table.take(2, named_amounts({{"GPU@a", 0.5}, {"GPU@a.0", 0.5}}))["GPU"], (Indices{1}));
  EXPECT_EQ(table.take(3, named_amounts({{"GPU@a", 0.5}, {"GPU@a.2", 0.5}}))["GPU"], (Indices{1}));
  EXPECT_FALSE(table.fits(named_amounts({{"GPU@a", 0.25}})));
}

TEST(DeviceTable, ABundleThatFitsOnNoDeviceOfItsReservationSharesOne) {
  DeviceTable table(gpus(2));
  table.take(9, gpus(1.8), true);
  table.offer(9, named_amounts({{"GPU@a", 1.8}, {"GPU@a.0", 0.6}, {"GPU@a.1", 0.6}, {"GPU@a.2", 0.6}}));
  for (ProcessId worker : {1, 2, 3}) {
    const std::string bundle = "GPU@a." + std::to_string(worker - 1);
    EXPECT_EQ(table.take(worker, named_amounts({{"GPU@a", 0.6}, {bundle.c_str(), 0.6}}))["GPU"].size(), 1u);
  }
}

TEST(DeviceTable, WorkersKeepDevicesOfAReservationThatHasEnded) {
  DeviceTable table(gpus(2));
  const ResourceSet offered = named_amounts({{"GPU@a", 2}, {"GPU@a.0", 1}, {"GPU@a.1", 1}});
  table.take(9, gpus(2), true);
  table.offer(9, offered);
  table.take(1, named_amounts({{"GPU@a", 1}, {"GPU@a.0", 1}}));
  table.take(2, named_amounts({{"GPU@a", 1}, {"GPU@a.1", 1}}));
  table.yield(2);
  table.withdraw(offered);
  table.left(9);
  EXPECT_FALSE(table.fits(offered));
  EXPECT_FALSE(table.fits(gpus(2)));
  table.left(1);
  EXPECT_EQ(table.take(3, gpus(1))["GPU"], (Indices{0})) << "the one that nobody wants back";
  table.left(3);
  table.left(2);
  EXPECT_EQ(table.take(4, gpus(2))["GPU"], (Indices{0, 1}));
  table.withdraw(offered);
  table.offer(8, offered);
  EXPECT_FALSE(table.fits(offered)) << "nobody holds what is offered";
}

TEST(DeviceTable, WhatIsNoDeviceHasNoIndex) {
  ResourceSet set;
  ASSERT_TRUE(set.set("CPU", 2).is_ok());
  DeviceTable table(set);
  EXPECT_TRUE(table.fits(set));
  EXPECT_TRUE(table.take(1, set).empty());
  EXPECT_FALSE(table.fits(gpus(1)));
}

}  // namespace
}  // namespace fray::scheduler
