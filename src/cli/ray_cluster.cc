#include "cli/ray_cluster.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/ray_job.h"

namespace fray::cli {

namespace {

constexpr std::string_view kScheme = "ray";

Status wrong(const std::string& what) {
  return Status(StatusCode::kInvalidArgument,
                what + "; write ray?address=http://HOST:PORT, with &ca_file=PATH or &verify=false for https");
}

std::string spec_or_default(const std::string& spec) {
  if (!spec.empty()) return spec;
  const char* value = std::getenv("FRAY_CLUSTER_SPEC");
  return value == nullptr ? "" : value;
}

Status take(std::string_view key, std::string value, RayClusterSpec* spec) {
  if (key == "address") {
    spec->address = std::move(value);
  } else if (key == "ca_file") {
    spec->ca_file = std::move(value);
  } else if (key == "verify") {
    if (value != "true" && value != "false") return wrong("verify must be true or false");
    spec->verify = value == "true";
  } else if (key != "namespace" && key != "autoscaling") {  // of the second tier
    return wrong(fmt::format("a Ray cluster has no key \"{}\"", key));
  }
  return Status::ok();
}

}  // namespace

bool is_ray_cluster(const std::string& cluster) {
  const std::string spec = spec_or_default(cluster);
  return spec == kScheme || spec.starts_with("ray?");
}

Result<RayClusterSpec> parse_ray_spec(const std::string& text) {
  std::string_view rest = text;
  if (rest != kScheme && !rest.starts_with("ray?")) return wrong(fmt::format("\"{}\" names no Ray cluster", text));
  rest.remove_prefix(std::min(rest.size(), kScheme.size() + 1));
  RayClusterSpec spec;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return wrong(fmt::format("\"{}\" has no value", pair));
    FRAY_RETURN_IF_ERROR(take(pair.substr(0, equals), std::string(pair.substr(equals + 1)), &spec));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (spec.address.empty()) return wrong("the address of the cluster's dashboard is missing");
  return spec;
}

Result<ray::Jobs> open_ray_cluster(const std::string& text) {
  FRAY_ASSIGN_OR_RETURN(RayClusterSpec spec, parse_ray_spec(spec_or_default(text)));
  ray::Endpoint endpoint;
  FRAY_ASSIGN_OR_RETURN(endpoint.address, ray::parse_address(spec.address));
  FRAY_ASSIGN_OR_RETURN(endpoint.token, ray::find_token());
  endpoint.ca_file = spec.ca_file;
  endpoint.verify = spec.verify;
  endpoint.interrupted = [] { return was_interrupted(); };
  return ray::Jobs(std::move(endpoint));
}

}  // namespace fray::cli
