// JobLimits: holds the replicas of one attempt to the limits of their order, and tells afterwards whether a replica was
// killed for its memory.
//
// Limits are set by control groups if these can be made, otherwise for each process; os/limits/limit_plan.h has the
// table. The names of the groups are written beside the attempt, so that a node can remove the groups of a supervisor
// that was killed.
//
// Threading:  one thread.
// Ownership:  owns the groups from set_up() to end().
// Failure:    if a planned group cannot be made, only the limits of each process apply; trouble() says so.
#pragma once

#include <cstdint>
#include <string>

#include "os/limits/limit_groups.h"
#include "os/limits/limit_plan.h"
#include "supervisor/exit_report.h"
#include "supervisor/order.h"

namespace fray::supervisor {

class JobLimits {
 public:
  // `folder`: the folder of the attempt.
  static JobLimits set_up(const Order& order, const std::string& folder);
  // Kills all processes in the groups of a supervisor that is gone, and removes the groups.
  static void clear(const std::string& folder);

  const os::LimitPlan& plan() const { return plan_; }
  const std::string& trouble() const { return trouble_; }
  // Why a replica with this report ended, such as "out of memory: used 63.9 MiB of 64.0 MiB"; empty if memory was not
  // the cause.
  std::string verdict(const ReplicaReport& replica) const;
  void kill() const { groups_.kill(); }
  // Removes the groups. Requires: all processes have ended.
  void end(const std::string& folder) const;

 private:
  JobLimits(os::LimitPlan plan, os::LimitGroups groups, std::uint64_t memory_bytes, std::string trouble)
      : plan_(std::move(plan)), groups_(std::move(groups)), memory_bytes_(memory_bytes), trouble_(std::move(trouble)) {}

  os::LimitPlan plan_;
  os::LimitGroups groups_;
  std::uint64_t memory_bytes_ = 0;
  std::string trouble_;
};

}  // namespace fray::supervisor
