// take_snapshot(): a folder as it is now, or what is in an archive, in the cache, under the digest of its content.
//
// The copy is read-only (which does not stop root) and shared by all that have the same content. A folder whose files
// change while they are copied is read again, three times at most.
//
// Threading:  any thread; blocks.
// Ownership:  the entry stays while the EnvUse lives; what is to be used is its folder /tree.
// Failure:    kRuntimeEnv: no such folder or archive, limits, a hostile archive, files that keep changing; kCancelled by
//             the watch.
#pragma once

#include <string>

#include "base/status.h"
#include "runtime_env/build_watch.h"
#include "runtime_env/env_cache.h"
#include "runtime_env/folder_listing.h"

namespace fray::runtime_env {

Result<EnvUse> take_snapshot(const EnvCache& cache, const std::string& working_dir, const BuildWatch& watch,
                             const TreeLimits& limits = {});

}  // namespace fray::runtime_env
