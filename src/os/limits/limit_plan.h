// plan_limits(): decides by which means of the kernel a group of processes is held to its limits. LimitGroups makes the
// groups of the plan; the program that starts the processes sets the rlimits and joins the groups.
//
//              control groups 2      control groups 1           neither
//   memory     memory.max            memory.limit_in_bytes      RLIMIT_DATA, of each process by itself
//   processes  pids.max              pids.max                   RLIMIT_NPROC: counts all of the user's, not for root
//   files      RLIMIT_NOFILE, of each process by itself
//
// Threads count as processes. Shared memory counts for the group of the process that wrote it first; RLIMIT_DATA
// ignores it.
//
// Threading:  values.
// Ownership:  values.
// Failure:    none: a limit that the kernel cannot enforce is not in the plan.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.h"

namespace fray::os {

// 0: no limit.
struct LimitRequest {
  std::uint64_t memory_bytes = 0;
  std::uint64_t processes = 0;
  std::uint64_t files = 0;
  // RLIMIT_NPROC counts all processes of the user, so it is not used for a limit that the user has not asked for.
  bool processes_by_group_only = false;

  FRAY_FIELDS(memory_bytes, processes, files, processes_by_group_only);
  bool empty() const { return memory_bytes == 0 && processes == 0 && files == 0; }
};

// A control group below which others can be made.
struct GroupPlace {
  std::string folder;
  bool version_2 = false;
  bool limits_memory = false;
  bool limits_processes = false;
};

struct LimitPlan {
  struct Group {
    std::string folder;
    bool version_2 = false;
    bool limits_memory = false;
    std::vector<std::pair<std::string, std::string>> settings;  // file and text; all but the first are best effort
  };
  std::vector<Group> groups;
  std::vector<std::pair<std::int32_t, std::uint64_t>> rlimits;  // resource of setrlimit, most

  // Files that a process writes 0 into to join.
  std::vector<std::string> joins() const;
  // Whether a group limits memory, so that a verdict exists afterwards.
  bool limits_memory() const;
};

// `name` is the name of the new groups; it must be unique.
LimitPlan plan_limits(const LimitRequest& request, const std::vector<GroupPlace>& places, const std::string& name);

}  // namespace fray::os
