// open_ray_cluster(): the client of the Ray cluster that a spec such as `ray?address=http://10.0.0.5:8265` names.
//
// Threading:  any thread; reads the environment.
// Ownership:  values.
// Failure:    kInvalidArgument says which key is not known or missing, and how a spec looks.
#pragma once

#include <string>

#include "base/status.h"
#include "ray/jobs.h"

namespace fray::cli {

struct RayClusterSpec {
  std::string address;
  std::string ca_file;
  bool verify = true;
};

Result<RayClusterSpec> parse_ray_spec(const std::string& spec);
// `spec` empty: FRAY_CLUSTER_SPEC.
Result<ray::Jobs> open_ray_cluster(const std::string& spec);

}  // namespace fray::cli
