#include "worker/slow_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "os/clock.h"
#include "os/fd.h"

namespace fray::worker {
namespace {

class SlowWatchTest : public ::testing::Test {
 protected:
  bool rings_within(int milliseconds) {
    pollfd set{watch_.fd(), POLLIN, 0};
    return ::poll(&set, 1, milliseconds) > 0;
  }
  bool rings_now() { return rings_within(0); }
  bool rings_in_time() { return rings_within(5'000); }

  SlowWatch watch_;
  const std::uint64_t now_ = os::monotonic_ns();
};

TEST_F(SlowWatchTest, IsSilentBeforeTheFirstTask) { EXPECT_FALSE(rings_now()); }

TEST_F(SlowWatchTest, RingsOnceThePatienceWithATaskHasEnded) {
  watch_.begin_patiently(now_);
  ASSERT_TRUE(rings_in_time());
  EXPECT_GE(os::monotonic_ns(), now_ + kPatienceNs);
}

TEST_F(SlowWatchTest, LaterTasksDoNotPutTheAlarmOff) {
  watch_.begin_patiently(now_);
  ASSERT_TRUE(rings_in_time());
  watch_.begin_patiently(os::monotonic_ns());
  EXPECT_TRUE(rings_now());
}

TEST_F(SlowWatchTest, LookSilencesAnAlarmThatHasRungAndNoOther) {
  watch_.begin_patiently(now_);
  watch_.looked(now_);
  ASSERT_TRUE(rings_in_time());
  watch_.looked(os::monotonic_ns());
  EXPECT_FALSE(rings_now());
  watch_.begin_patiently(os::monotonic_ns());
  EXPECT_TRUE(rings_in_time());
}

TEST_F(SlowWatchTest, RestTakesTheAlarmBack) {
  watch_.begin_patiently(now_);
  watch_.rest();
  EXPECT_FALSE(rings_within(2 * kPatienceNs / 1'000'000));
  watch_.begin_patiently(os::monotonic_ns());
  EXPECT_TRUE(rings_in_time());
}

TEST_F(SlowWatchTest, DescriptorIsWatchedFromArmToDisarm) {
  os::Fd event(::eventfd(1, EFD_CLOEXEC));
  EXPECT_FALSE(rings_now());
  watch_.arm(event.get(), EPOLLIN);
  EXPECT_TRUE(rings_now());
  watch_.disarm();
  EXPECT_FALSE(rings_now());
}

}  // namespace
}  // namespace fray::worker
