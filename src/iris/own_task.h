// OwnTask: the task of Iris in which this process runs, as environment variables (IRIS_*) describe it, and what jobs
// that are launched from there inherit.
//
//   IRIS_TASK_ID                     /user/job/0, /user/job/0:2 for a later attempt
//   IRIS_CONTROLLER_URL              the controller of the task; earlier releases set IRIS_CONTROLLER_ADDRESS
//   IRIS_JOB_ENV, _EXTRAS, _PIP_PACKAGES, _CONSTRAINTS   JSON
//   IRIS_BUNDLE_ID, IRIS_WORKDIR, IRIS_WORKER_REGION
//
// Threading:  any thread; find() reads the environment.
// Ownership:  values.
// Failure:    none: a variable that cannot be read counts as one that is not set.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "iris/job_request.h"

namespace fray::iris {

struct OwnTask {
  std::string controller;  // the address of its controller
  std::string job;
  std::string folder;  // where its job's workspace was unpacked
  std::string bundle_id;
  std::string region;
  std::map<std::string, std::string> env_vars;
  std::vector<std::string> extras;
  std::vector<std::string> pip_packages;
  std::vector<Constraint> constraints;

  static std::optional<OwnTask> find();
  // Makes a request one for a child of this task's job. The child inherits variables, packages, extras, places and the
  // workspace where the request says nothing else. When the request's workspace is this task's own folder, the child
  // gets the bundle that the job was launched with, without the changes that were made in the folder since.
  void adopt(JobRequest* request) const;
};

// The user whose jobs are meant when none is named: in a task of Iris the task's user, elsewhere the user of this
// process.
std::string usual_user();

}  // namespace fray::iris
