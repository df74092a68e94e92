// prepare(): makes a runtime env, and returns how a process has to be started to run in it.
//
//   RuntimeEnvSpec ──▶ snapshot of working_dir ──▶ packages by uv, or by conda ──▶ PreparedEnv
//                  └─▶ container_image: the command of a container instead; of the others only a snapshot counts
//
// It may take minutes, so a node has it done by a process of its own: `fray env prepare` (prepare_protocol.h). Whatever
// can be reused comes from the cache; entries beyond the cache's limit are removed afterwards.
//
// Threading:  one thread; blocks. Ownership:  the caller keeps Preparation::uses for as long as anything runs in the
// environment. Failure:    kRuntimeEnv: what was asked for cannot be made, with the reason; kCancelled: the watch said
// so; other codes
//             for the cache itself (a full disk, a folder of another user).
#pragma once

#include <vector>

#include "base/status.h"
#include "model/runtime_env_spec.h"
#include "runtime_env/build_watch.h"
#include "runtime_env/env_cache.h"
#include "runtime_env/prepared_env.h"

namespace fray::runtime_env {

struct Preparation {
  PreparedEnv prepared;
  std::vector<EnvUse> uses;
};

// `environment` is that of the caller, in which the programs of the build run.
Result<Preparation> prepare(const RuntimeEnvSpec& spec, const EnvCache& cache, const Variables& environment,
                            const BuildWatch& watch);

}  // namespace fray::runtime_env
