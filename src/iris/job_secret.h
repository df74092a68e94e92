// The secret of a root job: what its tasks show each other, and nobody else has, when one calls an actor of another. It is a
// variable of every job of the tree, whose name has controllers hide its value when they show the job.
//
// Threading:  any thread; reads this process's environment.
// Ownership:  values.
// Failure:    none. A child that is launched from elsewhere than a task of its tree, or in a tree that has no secret, has none.
#pragma once

#include "iris/job_request.h"

namespace fray::iris {

inline constexpr const char* kSecretVariable = "FRAY_JOB_SECRET";

// Gives a root job a new secret, and a child that of the task that launches it; one that the request has stays.
void give_secret(JobRequest* request);

}  // namespace fray::iris
