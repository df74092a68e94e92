#include "os/machine/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fray::os {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Gpus, AllThatArePresentAreUsedWhenNothingIsSaid) {
  EXPECT_THAT(choose_gpus(2, {}, {}), ElementsAre("0", "1"));
  EXPECT_THAT(choose_gpus(2, {}, "all"), ElementsAre("0", "1"));
  EXPECT_THAT(choose_gpus(0, {}, "all"), IsEmpty());
}

TEST(Gpus, CudaVisibleDevicesNarrowsAndOrders) {
  EXPECT_THAT(choose_gpus(4, "3, 1", {}), ElementsAre("3", "1"));
  EXPECT_THAT(choose_gpus(2, "GPU-8932f937", {}), ElementsAre("GPU-8932f937"));
  EXPECT_THAT(choose_gpus(1, "MIG-1,MIG-2", {}), ElementsAre("MIG-1", "MIG-2"));
}

TEST(Gpus, TheListEndsAtTheFirstThatNamesNone) {
  EXPECT_THAT(choose_gpus(4, "", {}), IsEmpty());
  EXPECT_THAT(choose_gpus(4, "-1", {}), IsEmpty());
  EXPECT_THAT(choose_gpus(4, "0,-1,2", {}), ElementsAre("0"));
  EXPECT_THAT(choose_gpus(2, "0,5,1", {}), ElementsAre("0"));
  EXPECT_THAT(choose_gpus(2, "NoDevFiles", {}), IsEmpty());
  EXPECT_THAT(choose_gpus(0, "0", {}), IsEmpty());
}

TEST(Gpus, ContainerWithoutGpusHasNone) {
  EXPECT_THAT(choose_gpus(2, {}, "none"), IsEmpty());
  EXPECT_THAT(choose_gpus(2, "0", "void"), IsEmpty());
}

}  // namespace
}  // namespace fray::os
