// CpuGauge: how many of the machine's CPUs were busy, on average since the last call.
//
// Threading:  one thread; reads /proc/stat.
// Ownership:  values.
// Failure:    0 where the kernel gives no figures, and at the first call.
#pragma once

#include <cstdint>

namespace fray::os {

class CpuGauge {
 public:
  // CPUs that worked, on average since the last call; 1.5 is one and a half.
  double busy();
  // Makes the next busy() begin anew, as the first call does.
  void forget() { all_ = 0; }

 private:
  std::uint64_t all_ = 0;  // in ticks, of all CPUs
  std::uint64_t idle_ = 0;
};

}  // namespace fray::os
