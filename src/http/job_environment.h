// Reads the runtime env of a job, in the form of `fray.RuntimeEnv` or in Ray's, as the spec that the node builds
// (model/runtime_env_spec.h). A key that is not known, or not supported, is refused by its name.
//
// Threading:  functions.
// Ownership:  none.
// Failure:    kInvalidArgument names the key and what is allowed; kNotFound a package that was never uploaded. Values of
//             environment variables are in no message.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "http/package_store.h"
#include "model/job_spec.h"

namespace fray::http {

// The Python that packages are for: the one that has Fray. Without it jobs that name packages are refused.
struct OwnPython {
  std::string program;
  std::string site_packages;

  // The Python of the environment that this program was installed into; empty where the program was only built.
  static OwnPython find();
};

// The schema of fray.RuntimeEnv's form.
nlohmann::json environment_schema();
// Puts what a node builds in the place of the spec's runtime env, which has fray.RuntimeEnv's form.
Status describe_environment(const OwnPython& python, JobSpec* spec);
// Does the same for a runtime env of Ray's form, which also has variables and the folder.
Status describe_ray_environment(const OwnPython& python, const PackageStore& packages, const nlohmann::json& env,
                                JobSpec* spec);

}  // namespace fray::http
