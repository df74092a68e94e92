// refusal_in(): why a program `fray …` has failed, as it said on its standard error and by its exit code.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    kOk where it has not failed: the exit code of a job that it watched is none of its own.
#pragma once

#include "base/status.h"
#include "node/own_programs.h"

namespace fray::node {

Status refusal_in(const OwnPrograms::Answer& answer);

}  // namespace fray::node
