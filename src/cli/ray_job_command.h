// `fray job VERB --cluster ray?address=http://…`: the command line of cli/ray_job.h. Recognised before the rest of the command
// line is parsed, for jobs of a Ray cluster have options of their own.
//
// Threading:  one thread.
// Ownership:  none.
// Failure:    run_ray_job() returns an exit code of cli/exit_codes.h.
#pragma once

namespace fray::cli {

// Whether the words are `job …` and name a Ray cluster, themselves or by FRAY_CLUSTER_SPEC.
bool is_ray_job(int argc, char** argv);
int run_ray_job(int argc, char** argv);

}  // namespace fray::cli
