#include "os/limits/descriptor_room.h"

#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "os/fd.h"

namespace fray::os {
namespace {

constexpr rlim_t kFewDescriptors = 120;

class DescriptorRoomTest : public ::testing::Test {
 protected:
  DescriptorRoomTest() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few = before_;
    few.rlim_cur = kFewDescriptors;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~DescriptorRoomTest() override { ::setrlimit(RLIMIT_NOFILE, &before_); }

  // Opens one descriptor after each yes; how many.
  std::size_t fill(DescriptorRoom& room) {
    std::size_t count = 0;
    for (; room.has_room_for(1); ++count) {
      taken_.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      EXPECT_TRUE(taken_.back().is_open());
    }
    return count;
  }

  rlimit before_{};
  std::vector<Fd> taken_;
};

TEST_F(DescriptorRoomTest, SaysNoWhileSomeAreStillFree) {
  DescriptorRoom room;
  EXPECT_GT(fill(room), 0u);
  for (rlim_t i = 0; i < kFewDescriptors / 8; ++i) {
    taken_.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(taken_.back().is_open()) << i;
  }
}

TEST_F(DescriptorRoomTest, CountsWhatWasPromisedAndFindsRoomAgain) {
  DescriptorRoom room;
  EXPECT_FALSE(room.has_room_for(kFewDescriptors));
  fill(room);
  taken_.resize(taken_.size() / 2);
  EXPECT_TRUE(room.has_room_for(1));
}

TEST_F(DescriptorRoomTest, SaysNoWhereNotOneIsFree) {
  DescriptorRoom room;
  while (true) {
    Fd another(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!another.is_open()) break;
    taken_.push_back(std::move(another));
  }
  EXPECT_FALSE(room.has_room_for(1));
}

}  // namespace
}  // namespace fray::os
