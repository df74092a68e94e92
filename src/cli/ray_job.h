// `fray job … --cluster ray?address=http://…`: a Ray cluster's jobs, from a machine that needs no Ray. One function a verb.
//
// Threading:  one thread; blocks while the cluster is asked.
// Ownership:  none.
// Failure:    each returns an exit code of cli/exit_codes.h and says on standard error what failed and what to do:
//             kExitUnreachable, kExitRefused (token), kExitNotFound, kExitConflict (the id is taken), kExitTimedOut,
//             kExitUsage for what was typed. Where a job's end is waited for, its own exit code; 130 after Ctrl-C, which
//             leaves the job as it is and prints how to come back.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fray::cli {

// Whether a cluster spec, or FRAY_CLUSTER_SPEC when it is empty, names a Ray cluster.
bool is_ray_cluster(const std::string& cluster);

struct RaySubmission {
  std::vector<std::string> command;
  std::string submission_id;
  std::string working_dir;            // a folder or archive of this machine, or a URI
  std::string runtime_env;            // JSON
  std::vector<std::string> env_vars;  // NAME=VALUE, or NAME of one of this process
  std::map<std::string, std::string> metadata;
  std::optional<double> cpus;
  std::optional<double> gpus;
  std::string memory;     // a size
  std::string resources;  // as `fray start` takes them
  bool follow = false;
  bool json = false;
};

int ray_job_submit(const std::string& cluster, const RaySubmission& submission);
int ray_job_list(const std::string& cluster, bool json);
int ray_job_status(const std::string& cluster, const std::string& id, bool json);
int ray_job_logs(const std::string& cluster, const std::string& id, bool follow, std::optional<std::size_t> tail);
int ray_job_stop(const std::string& cluster, const std::string& id, bool json);
int ray_job_wait(const std::string& cluster, const std::string& id, std::optional<double> timeout_seconds, bool json);
int ray_job_delete(const std::string& cluster, const std::string& id, bool json);

}  // namespace fray::cli
