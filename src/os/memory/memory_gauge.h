// MemoryGauge: how much memory is left, on the machine and in each control group (v1, v2) that limits this process.
//
// Threading:  any thread; reads /proc and /sys.
// Ownership:  knows the groups that this process was in when it was made.
// Failure:    a limit that cannot be read counts as none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/machine/machine.h"

namespace fray::os {

// What is left in the group, or on the machine, that has the least.
struct MemoryRoom {
  std::uint64_t limit_bytes = 0;      // 0: nothing is known
  std::uint64_t available_bytes = 0;  // free, or in file caches that can be dropped
  double threshold = 0;               // the share that may be used; 0: all but 5 %, or all but 1 GiB where that is less

  // More is used than the threshold allows.
  bool is_short() const;
  // Nearly so: the usual reserve, once more, would be too much. Memory that is not needed is freed then.
  bool is_scarce() const;

 private:
  std::uint64_t reserve_bytes() const;
};

class MemoryGauge {
 public:
  // `membership` as in /proc/self/cgroup; groups below `groups` (/sys/fs/cgroup), the machine's numbers in `proc`.
  MemoryGauge(const std::string& membership, const std::string& groups, std::string proc, double threshold = 0);
  static MemoryGauge of_this_process(double threshold = 0);

  MemoryRoom room() const;
  // How many processes the kernel has killed for want of memory, here or, without groups, on the machine.
  std::uint64_t kernel_kills() const;

 private:
  MemoryRoom room_of(const MemoryGroup& group) const;
  MemoryRoom room_of_machine() const;

  std::vector<MemoryGroup> groups_;
  std::string proc_;
  double threshold_;
};

}  // namespace fray::os
