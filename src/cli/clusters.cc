#include "cli/clusters.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/passwords.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/python_program.h"
#include "client/jobs/job_client.h"
#include "cluster/spec.h"
#include "http/job_environment.h"
#include "http_client/token.h"
#include "iris/endpoint.h"
#include "iris/iris_jobs.h"
#include "iris/job_order.h"
#include "os/process/spawn.h"
#include "ray/endpoint.h"
#include "ray/ray_jobs.h"

namespace fray::cli {

namespace {

namespace fs = std::filesystem;
using cluster::Spec;
using OpenedJobs = Result<std::unique_ptr<cluster::Jobs>>;

// ---- A node

bool is_of_a_job(const std::string& name) {
  return name.starts_with("FRAY_JOB_") || name.starts_with("FRAY_REPLICA_") || name == "FRAY_NODE";
}

// The environment variables of a job: those that were given, and those of this program. PATH begins with the folder of
// this program's own environment.
void inherit_environment(Texts& environment) {
  const bool has_path = environment.contains("PATH");
  for (auto& [name, value] : os::own_environment()) {
    if (!is_of_a_job(name)) environment.emplace(name, value);
  }
  auto python = find_python("");
  if (has_path || !python.is_ok()) return;
  const std::string folder = fs::path(*python).parent_path().string();
  std::string& path = environment.emplace("PATH", "/usr/local/bin:/usr/bin:/bin").first->second;
  if ((":" + path + ":").find(":" + folder + ":") == std::string::npos) path = folder + ":" + path;
}

Status complete_for_node(JobSpec& spec) {
  std::error_code error;
  spec.folder = spec.folder.empty() ? fs::current_path(error).string()
                                    : fs::absolute(spec.folder, error).lexically_normal().string();
  if (error) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("the current folder cannot be found ({}); go to one that exists, or name one with --folder",
                    error.message()));
  }
  if (spec.name.empty()) spec.name = job_name_of(spec.command);
  if (!spec.resources.units().contains("CPU")) FRAY_RETURN_IF_ERROR(spec.resources.set("CPU", 1));
  FRAY_RETURN_IF_ERROR(http::describe_environment(http::OwnPython::find(), &spec));
  inherit_environment(spec.environment);
  return spec.check();
}

OpenedJobs open_node(const Spec& spec, const ClusterChoice& choice) {
  NodeOption socket = choice.socket;
  if (auto address = spec.keys.find("address"); address != spec.keys.end()) socket = address->second;
  FRAY_ASSIGN_OR_RETURN(auto session,
                        choice.start_node ? NodeSession::open_or_start(socket) : NodeSession::open(socket));
  return std::unique_ptr<cluster::Jobs>(std::make_unique<client::JobClient>(session->socket()));
}

// ---- Ray

Status complete_for_ray(JobSpec& spec) { return ray::request_of(spec).status(); }

OpenedJobs open_ray(const Spec& spec, const ClusterChoice&) {
  FRAY_ASSIGN_OR_RETURN(ray::Endpoint endpoint, ray::endpoint_of(spec, was_interrupted));
  return std::unique_ptr<cluster::Jobs>(std::make_unique<ray::RayJobs>(std::move(endpoint)));
}

// ---- Iris

Status complete_for_iris(JobSpec& spec) {
  std::error_code error;
  if (!spec.folder.empty()) spec.folder = fs::absolute(spec.folder, error).lexically_normal().string();
  if (!spec.folder.empty() && !fs::is_directory(spec.folder, error)) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("there is no folder {}; --folder names the one that is sent along", spec.folder));
  }
  return iris::request_of(spec).status();
}

OpenedJobs open_iris(const Spec& spec, const ClusterChoice&) {
  FRAY_ASSIGN_OR_RETURN(iris::Jobs jobs, iris::jobs_of(spec, was_interrupted));
  return std::unique_ptr<cluster::Jobs>(std::make_unique<iris::IrisJobs>(std::move(jobs)));
}

using FoundToken = Result<http_client::Token>;

struct Kind {
  std::string_view scheme;
  OpenedJobs (*open)(const Spec& spec, const ClusterChoice& choice);
  Status (*complete)(JobSpec& spec);
  FoundToken (*token)();  // of this program's environment
};
constexpr Kind kClusters[] = {
    {"local", open_node, complete_for_node, [] { return FoundToken(http_client::Token()); }},
    {"ray", open_ray, complete_for_ray, ray::token_of_environment},
    {"iris", open_iris, complete_for_iris, [] { return FoundToken(iris::token_of_environment()); }},
};
constexpr const Kind& kNode = kClusters[0];

const Kind* kind_of(std::string_view scheme) {
  const auto* found =
      std::find_if(std::begin(kClusters), std::end(kClusters), [&](const Kind& each) { return each.scheme == scheme; });
  return found == std::end(kClusters) ? nullptr : found;
}

Result<Spec> said_spec(const std::string& text) {
  FRAY_ASSIGN_OR_RETURN(Spec spec, Spec::parse(text));
  if (kind_of(spec.scheme) == nullptr) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("there are no jobs on '{}'; --cluster takes local, local?address=ADDRESS, "
                              "ray?address=http://HOST:PORT or iris?controller=http://HOST:PORT",
                              without_passwords(text)));
  }
  const bool is_node = spec.scheme == kNode.scheme;
  if (is_node && spec.keys.size() > spec.keys.count("address")) {
    return Status(StatusCode::kInvalidArgument,
                  "--cluster local means a node that runs: `address` is the only key; `fray start` has settings");
  }
  return spec;
}

// The cluster that programs started from here would use, by FRAY_CLUSTER_SPEC. Of a node it says only that it is a
// node; which node is decided by the rule that all commands share.
Result<Spec> spec_of_environment() {
  const char* text = std::getenv("FRAY_CLUSTER_SPEC");
  const std::string scheme = text == nullptr ? "" : std::string(text, std::strcspn(text, "?"));
  if (kind_of(scheme) == nullptr || scheme == kNode.scheme) return Spec{std::string(kNode.scheme), {}};
  return Spec::parse(text);
}

std::string option_of(const ClusterChoice& choice) {
  if (choice.cluster) return fmt::format(" --cluster '{}'", *choice.cluster);
  if (choice.socket) return fmt::format(" --socket '{}'", *choice.socket);
  return "";
}

}  // namespace

Result<std::string> token_of_environment(const std::string& text) {
  FRAY_ASSIGN_OR_RETURN(Spec spec, said_spec(text));
  FRAY_ASSIGN_OR_RETURN(http_client::Token token, kind_of(spec.scheme)->token());
  FRAY_RETURN_IF_ERROR(http_client::check_token(token));
  return token.value;
}

int open_cluster(const std::string& command, const ClusterChoice& choice, OpenCluster* cluster, JobSpec* order) {
  const bool said = choice.cluster || choice.socket;
  auto wrong = [&](const Status& why) {
    const char* text = said ? nullptr : std::getenv("FRAY_CLUSTER_SPEC");
    if (text == nullptr) return report_usage(command, why);
    return report_usage(command,
                        Status(why.code(), fmt::format("{}\nhint: FRAY_CLUSTER_SPEC is '{}'; `--cluster local` "
                                                       "means a node of this machine",
                                                       why.message(), without_passwords(text))));
  };
  Result<Spec> spec = choice.cluster  ? said_spec(*choice.cluster)
                      : choice.socket ? Spec{std::string(kNode.scheme), {}}
                                      : spec_of_environment();
  if (!spec.is_ok()) return wrong(spec.status());
  const Kind& kind = *kind_of(spec->scheme);
  const bool is_node = &kind == &kNode;
  const Status complete = order == nullptr ? Status() : kind.complete(*order);
  if (!complete.is_ok()) return is_node ? report_usage(command, complete) : wrong(complete);
  auto jobs = kind.open(*spec, choice);
  // A node has been reached at its address already. The address of another cluster has only been parsed.
  if (!jobs.is_ok()) return is_node ? report_failure(command, jobs.status()) : wrong(jobs.status());
  *cluster = {std::move(jobs).value(), option_of(choice)};
  return kExitOk;
}

}  // namespace fray::cli
