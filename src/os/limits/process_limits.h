// Limits that a node changes for itself and that its workers must not inherit: its priority with the out-of-memory
// killer and its limit of open files.
//
// Threading:  at the start of a process, before it has threads.
// Ownership:  a value, which holds the previous limits.
// Failure:    none: both are best effort.
#pragma once

#include <string>

#include <sys/resource.h>
#include <sys/types.h>

namespace fray::os {

class ProcessLimits {
 public:
  // Raises the soft limit of open files to the hard one and asks to be killed late.
  static ProcessLimits raise();
  // Gives a child what this process had before raise().
  void restore_in(pid_t child) const;

 private:
  std::string oom_score_;  // empty: was not changed
  rlimit files_{};
  bool files_changed_ = false;
};

}  // namespace fray::os
