#include "scheduler/device_table.h"

#include <gtest/gtest.h>

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
