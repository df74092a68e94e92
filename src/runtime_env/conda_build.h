// Packages of a runtime env by conda: a whole environment with an interpreter of its own, made by micromamba, mamba or
// conda, whichever is found first. Its Python has the driver's version, because Fray's own extension fits no other.
//
// Threading:  one thread; blocks in the program.
// Ownership:  fills a folder of the caller's.
// Failure:    kRuntimeEnv: no such program, or its last 50 lines; kCancelled by the watch.
#pragma once

#include <string>

#include "base/status.h"
#include "model/runtime_env_spec.h"
#include "runtime_env/build_watch.h"

namespace fray::runtime_env {

std::string conda_digest(const RuntimeEnvSpec& spec, const std::string& python_version);

// The path of the program; kRuntimeEnv with what to do when there is none.
Result<std::string> find_conda(const Variables& environment);

// "3.11", as the interpreter says itself.
Result<std::string> python_version(const std::string& python, const Variables& environment, const BuildWatch& watch);

// `folder` gets env/ with bin/python in it. Returns what was asked for, for people.
Result<std::string> make_conda_env(const RuntimeEnvSpec& spec, const std::string& version, const std::string& folder,
                                   const std::string& conda, const Variables& environment, const BuildWatch& watch);

}  // namespace fray::runtime_env
