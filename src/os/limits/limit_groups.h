// LimitGroups: makes, reads and removes the control groups of a LimitPlan.
//
//   LimitPlan plan = plan_limits(request, find_group_places(), "fray-job-1");
//   auto groups = LimitGroups::make(plan);       // then start processes that join plan.joins() and set plan.rlimits
//   groups->memory().killed                      // was one of them killed for its memory?
//   groups->remove()                             // when all of them have ended
//
// Threading:  any thread; one at a time. Ownership:  does not own the folders, which outlive the object: a process that
// adopts the replicas finds them by the plan. Failure:    make() returns why a limit cannot be set, and leaves no group
// behind. remove() leaves groups that still have processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "os/limits/limit_plan.h"

namespace fray::os {

// Where this process can make groups: the nearest place of each controller, its own group first. Membership and root
// are those of read_group_limits().
std::vector<GroupPlace> find_group_places(const std::string& membership, const std::string& root);
std::vector<GroupPlace> find_group_places();

// "used 63.9 MiB of 64.0 MiB"
std::string used_of(std::uint64_t bytes, std::uint64_t limit_bytes);

struct GroupMemory {
  std::uint64_t peak_bytes = 0;   // 0: not known
  std::uint64_t limit_bytes = 0;  // 0: none, or not known
  std::uint64_t killed = 0;       // processes that the kernel has killed at the limit

  // "out of memory: used 63.9 MiB of 64.0 MiB"; empty when no process was killed.
  std::string verdict() const;
};

class LimitGroups {
 public:
  static Result<LimitGroups> make(const LimitPlan& plan);
  // The groups that were made earlier from this plan, perhaps by another process.
  static LimitGroups of(const LimitPlan& plan) { return LimitGroups(plan.groups); }

  GroupMemory memory() const;
  void kill() const;  // kills every process in the groups
  // False while a group still has processes.
  bool remove() const;

 private:
  explicit LimitGroups(std::vector<LimitPlan::Group> groups) : groups_(std::move(groups)) {}

  std::vector<LimitPlan::Group> groups_;
};

}  // namespace fray::os
