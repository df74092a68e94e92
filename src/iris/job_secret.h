// The secret of a root job. When a task calls an actor in another task, it shows this secret, which nobody outside of
// the tree of jobs has. The secret is an environment variable of every job of the tree; controllers hide the values of
// variables with such names when they show a job.
//
// Threading:  any thread; reads this process's environment.
// Ownership:  values.
// Failure:    none. A child job has no secret when it is launched from outside of its tree, or when its tree has none.
#pragma once

#include "iris/job_request.h"

namespace fray::iris {

inline constexpr const char* kSecretVariable = "FRAY_JOB_SECRET";

// Gives a root job a new secret, and a child job the secret of the task that launches it. A secret that the request has
// already stays.
void give_secret(JobRequest* request);

}  // namespace fray::iris
