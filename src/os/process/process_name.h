// ProcessName: a name that only one process ever has: its number and the time of its start. The kernel uses a number
// again when the process has ended.
//
// Threading:  any thread; reads /proc.
// Ownership:  a value.
// Failure:    start_ticks() is 0 for a process that does not exist.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace fray::os {

// In clock ticks since boot, as /proc/<pid>/stat has it.
std::uint64_t start_ticks(pid_t pid);

struct ProcessName {
  pid_t pid = 0;
  std::uint64_t started = 0;

  static ProcessName of(pid_t pid) { return {pid, start_ticks(pid)}; }
  bool exists() const { return pid > 0 && started != 0 && start_ticks(pid) == started; }
};

}  // namespace fray::os
