// Packages of a runtime env, by uv: what the driver's environment lacks is resolved against it and installed into a folder
// of its own, which comes before the driver's packages on the module path. The driver's environment is only read.
//
//   1. uv pip install --dry-run --python DRIVER      what would have to change, with exact versions
//   2. uv pip install --target FOLDER --no-deps      just that
//
// The digest covers everything that decides what comes out: the requirement lines, the interpreter, and which packages the
// driver has.
//
// Threading:  one thread; install_packages() blocks in uv.
// Ownership:  fills a folder of the caller's.
// Failure:    kRuntimeEnv with the last 50 lines of uv, passwords in addresses taken out; kCancelled by the watch.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "model/runtime_env_spec.h"
#include "runtime_env/build_watch.h"

namespace fray::runtime_env {

inline constexpr std::size_t kShownLines = 50;

std::string package_digest(const RuntimeEnvSpec& spec);

// Returns what was installed, for people. `folder` gets site-packages/ with them and, where they have programs, a
// bin/ in that.
Result<std::string> install_packages(const RuntimeEnvSpec& spec, const std::string& folder, const std::string& uv,
                                     const Variables& environment, const BuildWatch& watch);

// What a dry run of uv says is missing, as requirement lines with exact versions. kInternal when it says neither that nor
// that nothing is.
Result<std::vector<std::string>> missing_packages(const std::string& dry_run_output);

// The error of a build: what was to be made, how its program ended, its last lines.
Status build_failed(const std::string& what, const std::string& program, const ProgramEnd& end);

}  // namespace fray::runtime_env
