// CachedEnvironments: environments of jobs, made by processes of their own (EnvPreparation) and kept in the cache.
//
// uv, conda and podman run in the node's own environment. A job's Python processes find packages and snapshot by PYTHONPATH.
//
// Threading:  the node's loop.
// Ownership:  holds the cache's entries of a job from on_done, or hold(), until forget(). While no node runs nothing
//             holds them.
// Failure:    on_done gets kRuntimeEnv with the last lines of output of the program that failed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "event/loop.h"
#include "node/environments/env_preparation.h"
#include "node/jobs/job_environments.h"
#include "os/process/spawn.h"
#include "runtime_env/env_cache.h"

namespace fray::node {

class CachedEnvironments : public JobEnvironments {
 public:
  CachedEnvironments(event::Loop& loop, os::Spawner& spawner) : loop_(loop), spawner_(spawner) {}

  void prepare(const std::string& job, const std::string& runtime_env, OnProgress on_progress, OnDone on_done) override;
  std::vector<std::string> in_use(const std::string& job) const override;
  void hold(const std::string& job, const std::vector<std::string>& in_use) override;
  void forget(const std::string& job) override;
  // Whether a child of the node makes an environment: it is not to be killed as an orphan.
  bool is_preparer(pid_t pid) const;

 private:
  struct Job {
    std::unique_ptr<EnvPreparation> preparation;
    std::vector<runtime_env::EnvUse> uses;
  };

  void made(const std::string& job, const std::string& python, Result<runtime_env::PreparedEnv> prepared,
            const OnDone& on_done);

  event::Loop& loop_;
  os::Spawner& spawner_;
  std::map<std::string, Job> jobs_;
  std::vector<std::unique_ptr<EnvPreparation>> forgotten_;  // until their callbacks have returned
};

}  // namespace fray::node
