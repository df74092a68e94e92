#include "model/resource_set.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace fray {
namespace {

ResourceSet set_of(std::string_view name, double amount) {
  ResourceSet resources;
  EXPECT_TRUE(resources.set(name, amount).is_ok());
  return resources;
}

TEST(ResourceSet, TenthsAddUpToOneExactly) {
  ResourceSet sum;
  for (int i = 0; i < 10; ++i) sum.add(set_of("GPU", 0.1));
  EXPECT_EQ(sum, set_of("GPU", 1));
}

TEST(ResourceSet, AskingForNoneIsCoveredByNothing) {
  EXPECT_TRUE(ResourceSet().covers(set_of("CPU", 0)));
  EXPECT_FALSE(ResourceSet().covers(set_of("CPU", 0.5)));
}

TEST(ResourceSet, TakingMoreThanThereIsGoesBelowZeroAndComesBack) {
  ResourceSet free = set_of("CPU", 1);
  free.subtract(set_of("CPU", 2));
  EXPECT_EQ(free.amount("CPU"), -1);
  EXPECT_FALSE(free.covers(set_of("CPU", 0.1)));
  free.add(set_of("CPU", 2));
  EXPECT_EQ(free, set_of("CPU", 1));
}

TEST(ResourceSet, NonsenseIsRefusedAndNamed) {
  ResourceSet resources;
  for (double amount : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300}) {
    Status status = resources.set("GPU", amount);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("GPU"), std::string::npos);
  }
  EXPECT_TRUE(resources.empty());
}

TEST(ResourceSet, TerabytesOfMemoryAreExact) {
  ResourceSet resources = set_of("memory", 8.0 * (1ull << 40));
  EXPECT_EQ(resources.amount("memory"), 8.0 * (1ull << 40));
}

}  // namespace
}  // namespace fray
