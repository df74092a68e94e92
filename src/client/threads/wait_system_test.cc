#include "client/threads/wait_system.h"

#include <chrono>
#include <future>

#include <gtest/gtest.h>

namespace fray::client {
namespace {

using namespace std::chrono_literals;

// Whether a sleep until then ends by itself.
bool ends(WaitSystem::TimePoint until) {
  WaitSystem::Bell bell;
  auto sleep = std::async(std::launch::async, [&] {
    WaitSystem::Watched set;
    WaitSystem::sleep(set, bell, until);
  });
  const bool ended = sleep.wait_for(5s) == std::future_status::ready;
  bell.ring();
  return ended;
}

// The tables say so when they have something to do at once.
TEST(WaitSystemTest, SleepUntilTheEarliestMomentEndsAtOnce) { EXPECT_TRUE(ends(WaitSystem::TimePoint::min())); }

TEST(WaitSystemTest, SleepUntilAMomentThatHasComeEndsAtOnce) { EXPECT_TRUE(ends(WaitSystem::now() - 1s)); }

TEST(WaitSystemTest, SleepLastsUntilItsMoment) {
  const WaitSystem::TimePoint until = WaitSystem::now() + 20ms;
  EXPECT_TRUE(ends(until));
  EXPECT_GE(WaitSystem::now(), until);
}

TEST(WaitSystemTest, SleepWithoutAnEndEndsWhenTheBellRings) {
  WaitSystem::Bell bell;
  bell.ring();
  WaitSystem::Watched set;
  WaitSystem::sleep(set, bell, WaitSystem::TimePoint::max());
  WaitSystem::sleep(set, bell, WaitSystem::now());  // the bell is silent again
  EXPECT_EQ(set.back().revents, 0);
}

}  // namespace
}  // namespace fray::client
