// JobLimits: holds the replicas of one attempt to the limits of their order, and tells afterwards whether one was
// killed for its memory.
//
// Control groups where they can be made, else limits of each process; os/limits/limit_plan.h has the table. Which groups were made
// is written beside the attempt, so that a node can remove those of a supervisor that was killed.
//
// Threading:  one thread.
// Ownership:  owns the groups from set_up() to end().
// Failure:    where a group cannot be made after all, the limits of processes have to do; trouble() says so.
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
  // `folder`: of the attempt.
  static JobLimits set_up(const Order& order, const std::string& folder);
  // Those of a supervisor that is gone: everything in them is killed, and they are removed.
  static void clear(const std::string& folder);

  const os::LimitPlan& plan() const { return plan_; }
  const std::string& trouble() const { return trouble_; }
  // Why a replica that ended like this did: "out of memory: used 63.9 MiB of 64.0 MiB"; empty when it was not the memory.
  std::string verdict(const ReplicaReport& replica) const;
  void kill() const { groups_.kill(); }
  // After all processes have ended.
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
