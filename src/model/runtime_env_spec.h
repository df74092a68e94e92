// RuntimeEnvSpec: the environment of a task, actor or job besides environment variables, as it is sent and as it is
// built. Environment variables are part of a worker key or a job; only their names are here.
//
// Threading:  a value.
// Ownership:  owns its texts.
// Failure:    parse_runtime_env_spec() answers kInvalidArgument: no JSON, an unknown key, a wrong type, or keys that
//             exclude each other; values are not repeated in the message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fray {

struct RuntimeEnvSpec {
  std::string python;                      // the driver's interpreter
  std::vector<std::string> site_packages;  // folders with the packages that the driver has
  std::vector<std::string> packages;       // requirement lines
  std::vector<std::string> conda;          // specs of conda packages
  std::string working_dir;                 // folder or archive to work in a snapshot of
  std::string snapshot;                    // that snapshot, where it was taken already
  std::string container_image;
  std::vector<std::string> variables;  // names of variables that a container is to see
  std::string purpose;                 // "worker" or "job"
  std::string home;                    // folder that the package `fray` lies in; a container sees it

  // Nothing is to be built.
  bool empty() const {
    return packages.empty() && conda.empty() && working_dir.empty() && snapshot.empty() && container_image.empty();
  }

  friend bool operator==(const RuntimeEnvSpec&, const RuntimeEnvSpec&) = default;
};

std::string to_json(const RuntimeEnvSpec& spec);
Result<RuntimeEnvSpec> parse_runtime_env_spec(std::string_view text);

}  // namespace fray
