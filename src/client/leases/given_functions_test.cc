#include "client/leases/given_functions.h"

#include <deque>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace fray::client {
namespace {

using wire::kFunctionOverheadBytes;

TEST(GivenFunctions, OneThatIsUsedAgainIsNotGivenAgain) {
  GivenFunctions given;
  EXPECT_FALSE(given.use(1));
  EXPECT_TRUE(given.add(1, 100).empty());
  EXPECT_TRUE(given.used_last(1));
  EXPECT_TRUE(given.add(2, 100).empty());
  EXPECT_FALSE(given.used_last(1));
  EXPECT_TRUE(given.use(1));
  EXPECT_TRUE(given.used_last(1));
}

TEST(GivenFunctions, TheOneUsedLongestAgoMakesRoom) {
  GivenFunctions given(3 * kFunctionOverheadBytes);
  given.add(1, 0);
  given.add(2, 0);
  given.add(3, 0);
  EXPECT_TRUE(given.use(1));
  EXPECT_EQ(given.add(4, 0), std::vector<std::uint64_t>{2});
  EXPECT_FALSE(given.use(2));
  EXPECT_TRUE(given.use(1));
  EXPECT_TRUE(given.use(3));
}

TEST(GivenFunctions, OneThatIsLargerThanAllRoomIsAlone) {
  GivenFunctions given(3 * kFunctionOverheadBytes);
  given.add(1, 0);
  given.add(2, 0);
  EXPECT_EQ(given.add(3, 100 * kFunctionOverheadBytes), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_TRUE(given.use(3));
  EXPECT_EQ(given.add(4, 0), std::vector<std::uint64_t>{3});
}

TEST(GivenFunctions, WhatItSaysTheWorkerHasIsWhatWasGivenAndNotForgotten) {
  std::minstd_rand random(7);
  GivenFunctions given(20 * kFunctionOverheadBytes);
  std::set<std::uint64_t> worker;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t id = 1 + random() % 60;
    if (given.used_last(id) || given.use(id)) {
      ASSERT_TRUE(worker.contains(id));
      continue;
    }
    ASSERT_FALSE(worker.contains(id));
    for (std::uint64_t forgotten : given.add(id, random() % (4 * kFunctionOverheadBytes))) {
      ASSERT_EQ(worker.erase(forgotten), 1u);
    }
    worker.insert(id);
  }
}

}  // namespace
}  // namespace fray::client
