// refusal_in(): why a program `fray …` has failed, by its standard error and its exit code.
//
// Threading:  pure.
// Ownership:  values.
// Failure:    kOk when it has not failed. The exit code of a job that it watched is not a failure of the program.
#pragma once

#include "base/status.h"
#include "node/own_programs.h"

namespace fray::node {

Status refusal_in(const OwnPrograms::Answer& answer);

}  // namespace fray::node
