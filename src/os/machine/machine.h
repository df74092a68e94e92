// The CPUs and the memory that this process may use, as affinity and control groups (v1 and v2) limit them.
//
// Threading:  any thread; reads /proc and /sys.
// Ownership:  none.
// Failure:    a limit that cannot be read counts as none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fray::os {

// At least 1. A quota of 1.5 CPUs counts as 1.
double usable_cpus();
std::uint64_t usable_memory_bytes();

// Whether the kernel promises no memory that it does not have (vm.overcommit_memory is 2): then a plain store into shared
// memory that was not populated before can end in a SIGBUS.
bool overcommit_is_strict(const std::string& setting = "/proc/sys/vm/overcommit_memory");

// The limits of the control groups that /proc/self/cgroup (`membership`) names, below `root` (/sys/fs/cgroup); from the
// process's own group up to the root. 0: no limit.
struct GroupLimits {
  double cpus = 0;
  std::uint64_t memory_bytes = 0;
};
GroupLimits read_group_limits(const std::string& membership, const std::string& root);

// The memory groups among them that exist, the innermost first.
struct MemoryGroup {
  std::string folder;
  bool version_2 = false;
  std::uint64_t limit_bytes = 0;  // 0: no limit
};
std::vector<MemoryGroup> memory_groups(const std::string& membership, const std::string& root);

// The text of a small file; empty when it cannot be read.
std::string read_text(const std::string& path);
// The number with which a file begins; 0 where there is none.
std::uint64_t read_number(const std::string& path);

}  // namespace fray::os
