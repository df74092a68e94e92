// Containers: which engine there is, which options it works with on this machine, and the command that runs a program in
// an image. Only argument lists are made: no shell reads them, and no value of an environment variable is in them
// (`--env NAME` has the engine take it from its own environment).
//
// What works differs between machines: control groups of both versions at once, limits that may not be raised, missing
// networks. So a container that does nothing is tried with one set of options after the other, once, and the first that
// works is kept in the cache, for as long as engine and kernel are the same.
//
// The container shares with the host what the engine needs: processes (a worker's number is the same on both sides),
// shared memory, the network, and descriptors 3 and 4, which are the fork server's.
//
// Threading:  one thread; blocks in the engine.
// Ownership:  none; containers remove themselves when they end, and those that were killed are removed by the next look.
// Failure:    kRuntimeEnv: no engine is installed, none of the options works (with the engine's own words), or the image
//             is not there.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "model/runtime_env_spec.h"
#include "runtime_env/build_watch.h"
#include "runtime_env/env_cache.h"

namespace fray::runtime_env {

// Where a container sees the package `fray` of the host.
inline constexpr const char* kContainerHome = "/run/fray/site-packages";

struct ContainerEngine {
  std::string program;               // absolute path
  bool is_podman = true;             // else docker
  std::vector<std::string> options;  // of `run`, that were found to work here
};

// The sets of options in the order in which they are tried: the plain one first.
std::vector<std::vector<std::string>> options_to_try(bool is_podman, std::uint64_t most_files);

// An engine that can do what `spec` needs, with its image there.
Result<ContainerEngine> find_container_engine(const EnvCache& cache, const RuntimeEnvSpec& spec,
                                              const Variables& environment, const BuildWatch& watch);
// That the image is on this machine; it is pulled if it is not.
Status check_image(const ContainerEngine& engine, const std::string& image, const Variables& environment,
                   const BuildWatch& watch);
// Program and arguments; the command to run inside follows them. `folder`: where it is to work; empty: as the image says.
// Of `environment` only names are used.
std::vector<std::string> container_command(const ContainerEngine& engine, const RuntimeEnvSpec& spec,
                                           const std::string& folder, const Variables& environment);

}  // namespace fray::runtime_env
