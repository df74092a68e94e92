#include "worker/kept_functions.h"

#include <gtest/gtest.h>

namespace fray::worker {
namespace {

using Ids = std::vector<std::uint64_t>;
using wire::kFunctionOverheadBytes;

TEST(KeptFunctions, WhatTheClientCountsOnStays) {
  KeptFunctions kept(2 * kFunctionOverheadBytes);
  for (std::uint64_t id = 1; id <= 10; ++id) EXPECT_EQ(kept.give(id, 0), Ids{});
}

TEST(KeptFunctions, WhatIsToBeForgottenGoesWhenTheRoomIsNeeded) {
  KeptFunctions kept(2 * kFunctionOverheadBytes);
  kept.give(1, 0);
  kept.give(2, 0);
  EXPECT_EQ(kept.forget(1), Ids{});
  EXPECT_EQ(kept.give(3, 0), Ids{1});
  EXPECT_EQ(kept.forget(1), Ids{});
}

TEST(KeptFunctions, FunctionsOfFormerLeasesStayAsLongAsThereIsRoom) {
  KeptFunctions kept(2 * kFunctionOverheadBytes);
  kept.give(1, 0);
  kept.give(2, 0);
  kept.lease_ended();
  EXPECT_EQ(kept.give(2, 0), Ids{});
  EXPECT_EQ(kept.give(3, 0), Ids{1});
  kept.lease_ended();
  EXPECT_EQ(kept.give(4, 0), Ids{2});
}

TEST(KeptFunctions, OneThatIsGivenAgainWhileItIsKeptCountsOnce) {
  KeptFunctions kept(2 * kFunctionOverheadBytes);
  for (int lease = 0; lease < 5; ++lease) {
    EXPECT_EQ(kept.give(1, 0), Ids{});
    EXPECT_EQ(kept.give(1, 0), Ids{});
    kept.lease_ended();
  }
  EXPECT_EQ(kept.give(2, 0), Ids{});
}

}  // namespace
}  // namespace fray::worker
