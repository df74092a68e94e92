#include "model/resource_text.h"

#include <gtest/gtest.h>

namespace fray {
namespace {

ResourceSet cpus_and_memory(double cpus, double memory) {
  ResourceSet resources;
  EXPECT_TRUE(resources.set("CPU", cpus).is_ok());
  EXPECT_TRUE(resources.set("memory", memory).is_ok());
  return resources;
}

TEST(ResourceText, MemoryThatDiffersByAByteReadsDifferently) {
  const double gib = 1u << 30;
  EXPECT_EQ(text_beside(cpus_and_memory(1, gib + 1), cpus_and_memory(2, gib)), "CPU 1, memory 1073741825 B");
  EXPECT_EQ(text_beside(cpus_and_memory(2, gib), cpus_and_memory(1, 3 * gib)), "CPU 2, memory 1.0 GiB");
  EXPECT_EQ(text_beside(ResourceSet(), cpus_and_memory(1, gib)), "nothing");
}

TEST(ResourceText, AmountsOfASetHaveNoExponent) {
  EXPECT_EQ(cpus_and_memory(0.5, 25'276'500'000).to_string(), "CPU 0.5, memory 23.5 GiB");
}

}  // namespace
}  // namespace fray
