// What the tests of leases have in common: who asks, for how many CPUs, and why that waits.
//
// Threading:  values.
// Ownership:  none.
// Failure:    an amount that is none fails the test.
#pragma once

#include <gtest/gtest.h>

#include "model/ids.h"
#include "model/resource_set.h"
#include "scheduler/lease_table.h"
#include "scheduler/wait_reasons.h"

namespace fray::scheduler {

inline constexpr ProcessId kAnn = 1;  // drivers
inline constexpr ProcessId kBob = 2;

inline ResourceSet cpu(double amount) {
  ResourceSet set;
  EXPECT_TRUE(set.set("CPU", amount).is_ok());
  return set;
}

// By client and number.
inline WaitReason reason_of(const LeaseTable& table, std::size_t place) {
  return wait_reason(table.state(), *table.state().demands.all().at(place));
}

}  // namespace fray::scheduler
