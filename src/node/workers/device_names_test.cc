#include "node/workers/device_names.h"

#include <gtest/gtest.h>

namespace fray::node {
namespace {

TEST(DeviceNames, NodesOwnNamesAreUsedAndIndicesForTheRest) {
  DeviceNames names({"GPU-a", "7"});
  auto variables = names.environment({{"GPU", {0, 1, 2}}, {"TPU", {3}}});
  ASSERT_EQ(variables.size(), 2u);
  EXPECT_EQ(variables[0], (std::pair<std::string, std::string>("CUDA_VISIBLE_DEVICES", "GPU-a,7,2")));
  EXPECT_EQ(variables[1], (std::pair<std::string, std::string>("TPU_VISIBLE_CHIPS", "3")));
  EXPECT_TRUE(names.environment({}).empty());
}

}  // namespace
}  // namespace fray::node
