// JobEnvironments: makes the runtime env of a job, before the first attempt that this node starts, and changes the
// command, folder and variables of the job's processes accordingly.
//
// Threading:  the node's loop. An implementation does its work in other processes, and answers on the loop.
// Ownership:  the implementation owns what it makes; a job uses it until forget().
// Failure:    on_done gets the reason. After forget() on_done is not called for the job any more.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "os/limits/limit_plan.h"

namespace fray::node {

struct JobLaunch {
  std::vector<std::string> command;
  std::string folder;
  std::vector<std::pair<std::string, std::string>> environment;  // all variables
  os::LimitRequest limits;  // of the command's processes; a container's engine takes them over
};

class JobEnvironments {
 public:
  using Apply = std::function<void(JobLaunch& launch)>;
  using OnProgress = std::function<void(const std::string& text)>;
  using OnDone = std::function<void(Result<Apply> apply)>;

  virtual ~JobEnvironments() = default;
  virtual void prepare(const std::string& job, const std::string& runtime_env, OnProgress on_progress,
                       OnDone on_done) = 0;
  // The entries of the cache that a job uses; for hold() of the next node.
  virtual std::vector<std::string> in_use(const std::string& job) const = 0;
  // Holds these entries for an adopted job, which goes on using them. An entry that was removed meanwhile is not held.
  virtual void hold(const std::string& job, const std::vector<std::string>& in_use) = 0;
  virtual void forget(const std::string& job) = 0;
};

}  // namespace fray::node
