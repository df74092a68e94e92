// describe(): a job as clients are told of it, as JSON: what `fray job status --json` prints and jobs in Python are made of.
//
// Threading:  a function.
// Ownership:  none.
// Failure:    none; bytes that are no UTF-8 are replaced.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "job/job_table.h"

namespace fray::node {

nlohmann::json describe(const job::JobView& view);

}  // namespace fray::node
