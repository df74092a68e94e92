// Numbers of worker keys: shared while anybody holds them, and never given twice.
#include "client/leases/worker_keys.h"

#include <gtest/gtest.h>

namespace fray::client {
namespace {

wire::WorkerKey key_named(const char* value) {
  wire::WorkerKey key;
  key.command = {"python"};
  key.environment = {{"NAME", value}};
  return key;
}

TEST(WorkerKeys, EqualKeysShareANumberUntilTheLastHoldIsGone) {
  WorkerKeys keys;
  const auto first = keys.hold(key_named("a"));
  const auto second = keys.hold(key_named("a"));
  EXPECT_TRUE(first.is_new);
  EXPECT_FALSE(second.is_new);
  EXPECT_EQ(first.number, second.number);
  EXPECT_FALSE(keys.release(first.number));
  EXPECT_FALSE(keys.hold(key_named("a")).is_new);
  EXPECT_FALSE(keys.release(first.number));
  EXPECT_TRUE(keys.release(first.number));
}

TEST(WorkerKeys, KeyThatComesBackHasANewNumber) {
  WorkerKeys keys;
  const auto before = keys.hold(key_named("a"));
  EXPECT_TRUE(keys.release(before.number));
  const auto after = keys.hold(key_named("a"));
  EXPECT_TRUE(after.is_new);
  EXPECT_NE(after.number, before.number);
  EXPECT_FALSE(keys.release(before.number));  // a late word about a number that is gone
  EXPECT_TRUE(keys.release(after.number));
}

TEST(WorkerKeys, OwnKeyIsNumberZeroAndStays) {
  WorkerKeys keys;
  keys.hold_own(key_named("own"));
  const auto same = keys.hold(key_named("own"));
  EXPECT_EQ(same.number, 0U);
  EXPECT_FALSE(same.is_new);
  EXPECT_FALSE(keys.release(0));
  EXPECT_FALSE(keys.hold(key_named("own")).is_new);
}

TEST(WorkerKeys, FurtherHoldOfANumberCounts) {
  WorkerKeys keys;
  const auto held = keys.hold(key_named("a"));
  keys.hold_again(held.number);
  EXPECT_FALSE(keys.release(held.number));
  EXPECT_TRUE(keys.release(held.number));
}

}  // namespace
}  // namespace fray::client
