// What the tests of leases have in common: who asks, and for how many CPUs.
//
// Threading:  values.
// Ownership:  none.
// Failure:    an amount that is none fails the test.
#pragma once

#include <gtest/gtest.h>

#include "model/ids.h"
#include "model/resource_set.h"

namespace fray::scheduler {

inline constexpr ProcessId kAnn = 1;  // drivers
inline constexpr ProcessId kBob = 2;

inline ResourceSet cpu(double amount) {
  ResourceSet set;
  EXPECT_TRUE(set.set("CPU", amount).is_ok());
  return set;
}

}  // namespace fray::scheduler
