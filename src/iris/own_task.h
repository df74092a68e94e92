// OwnTask: the task of Iris in which this process runs, as its variables (IRIS_*) tell of it, and what jobs that are launched
// there take from its job.
//
//   IRIS_TASK_ID                     /user/job/0, /user/job/0:2 for a later attempt
//   IRIS_CONTROLLER_URL              whose task it is; IRIS_CONTROLLER_ADDRESS before
//   IRIS_JOB_ENV, _EXTRAS, _PIP_PACKAGES, _CONSTRAINTS   JSON
//   IRIS_BUNDLE_ID, IRIS_WORKDIR, IRIS_WORKER_REGION
//
// Threading:  any thread; find() reads the environment.
// Ownership:  values.
// Failure:    none: what cannot be read is as if it were not there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "iris/job_request.h"

namespace fray::iris {

struct OwnTask {
  std::string controller;  // its address
  std::string job;
  std::string folder;  // where its job's workspace was unpacked
  std::string bundle_id;
  std::string region;
  std::map<std::string, std::string> env_vars;
  std::vector<std::string> extras;
  std::vector<std::string> pip_packages;
  std::vector<Constraint> constraints;

  static std::optional<OwnTask> find();
  // Makes a request one for a child of this task's job: it has the job's variables, packages, extras, places and workspace
  // where it says nothing else. A workspace that is this task's own folder is what the job was given, not what became of it.
  void adopt(JobRequest* request) const;
};

// Whose jobs somebody means who names nobody: those of this task's user, else of the user of this process.
std::string usual_user();

}  // namespace fray::iris
