#include "http/job_environment.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "model/members.h"
#include "model/runtime_env_spec.h"
#include "os/machine/installation.h"

namespace fray::http {

namespace {

using nlohmann::json;

constexpr const char* kPackageScheme = "gcs://";

// A container gets the names of variables; the job has their values.
Status finish(RuntimeEnvSpec spec, const OwnPython& python, JobSpec* order) {
  order->runtime_env.clear();
  if (spec.empty()) return Status::ok();
  if (!spec.packages.empty() && !spec.conda.empty()) {
    return wrong("runtime_env: packages and conda both say which packages there are; give one of them");
  }
  if (python.program.empty() && (!spec.packages.empty() || !spec.conda.empty())) {
    return wrong(
        "runtime_env: this node's Fray is part of no Python environment, so that there is none to add packages to");
  }
  spec.python = python.program;
  if (!python.site_packages.empty()) spec.site_packages = {python.site_packages};
  spec.home = python.site_packages;
  spec.purpose = "job";
  for (const auto& [name, value] : order->environment) spec.variables.push_back(name);
  order->runtime_env = to_json(spec);
  return Status::ok();
}

// Refuses a setting of Ray's pip or uv that has another value than its default.
Status check_unset(Members& members, const std::string& key) {
  const json value = members.take(key.c_str());
  if (value.is_null() || value == false || (value.is_array() && value.empty())) return Status::ok();
  return wrong(fmt::format("runtime_env: {} is not supported here; leave it out", key));
}

// A list of requirement lines, or an object with it.
Status take_packages(const char* kind, json given, std::vector<std::string>* packages) {
  if (given.is_null()) return Status::ok();
  if (given.is_string()) {
    return wrong(fmt::format(
        "runtime_env: {} names a file, which is on another machine; give the list of what it requires", kind));
  }
  if (given.is_array()) given = json{{"packages", std::move(given)}};
  if (!given.is_object()) return wrong_type(kind, "a list of requirement lines", given);
  Members members(std::move(given));
  FRAY_RETURN_IF_ERROR(members.text_list("packages", packages));
  FRAY_RETURN_IF_ERROR(check_unset(members, fmt::format("{}_check", kind)));
  // Options about how to install, which Fray decides itself.
  for (const char* word : {"version", "install_options"}) {
    members.take_silently(fmt::format("{}_{}", kind, word).c_str());
  }
  return members.end();
}

Status take_conda(json given, std::vector<std::string>* specs) {
  if (given.is_null()) return Status::ok();
  if (!given.is_object()) {
    return wrong("runtime_env: conda names an environment of another machine; give {\"dependencies\": [...]}");
  }
  Members members(std::move(given));
  members.take("name");
  members.take("channels");
  const json dependencies = members.take("dependencies");
  FRAY_RETURN_IF_ERROR(members.end());
  if (!dependencies.is_array()) return wrong("runtime_env: conda must have a list of dependencies");
  for (const json& each : dependencies) {
    if (!each.is_string()) {
      return wrong("runtime_env: conda with a pip section is not supported here; give pip alone, or conda alone");
    }
    specs->push_back(each.get<std::string>());
  }
  return Status::ok();
}

Status set_working_dir(const std::string& given, const PackageStore& packages, RuntimeEnvSpec* spec, JobSpec* order) {
  if (given.empty()) return Status::ok();
  if (given.starts_with(kPackageScheme)) {
    FRAY_ASSIGN_OR_RETURN(spec->working_dir, packages.path_of(given));
    return Status::ok();
  }
  constexpr std::string_view kLocal = "local://";
  order->folder = given.starts_with(kLocal) ? given.substr(kLocal.size()) : given;
  if (order->folder.starts_with('/')) return Status::ok();
  return wrong("runtime_env: working_dir must be a package that was uploaded (gcs://...) or a folder of this machine");
}

}  // namespace

OwnPython OwnPython::find() {
  const os::Installation own = os::Installation::of(os::own_program());
  if (own.site_packages.empty()) return {};
  return {os::python_of(own.environment), own.site_packages};
}

json environment_schema() {
  const json texts = {{"type", "array"}, {"items", {{"type", "string"}}}};
  return {{"type", "object"},
          {"description", "what fray.RuntimeEnv has, without env"},
          {"properties",
           {{"package_requirements", texts},
            {"conda", texts},
            {"working_dir", {{"type", "string"}, {"description", "a folder or archive of this machine"}}},
            {"container_image", {{"type", "string"}}}}}};
}

Status describe_environment(const OwnPython& python, JobSpec* order) {
  if (order->runtime_env.empty()) return Status::ok();
  const json env = parse_json(order->runtime_env);
  if (!env.is_object()) return wrong_type("runtime_env", "an object", env);
  Members members(env);
  RuntimeEnvSpec spec;
  FRAY_RETURN_IF_ERROR(members.text_list("package_requirements", &spec.packages));
  FRAY_RETURN_IF_ERROR(members.text_list("conda", &spec.conda));
  FRAY_RETURN_IF_ERROR(members.text("working_dir", &spec.working_dir));
  FRAY_RETURN_IF_ERROR(members.text("container_image", &spec.container_image));
  FRAY_RETURN_IF_ERROR(members.end());
  if (!spec.working_dir.empty() && !spec.working_dir.starts_with('/')) {
    return wrong("runtime_env: working_dir must be an absolute path of this machine");
  }
  return finish(std::move(spec), python, order);
}

Status describe_ray_environment(const OwnPython& python, const PackageStore& packages, const json& env,
                                JobSpec* order) {
  if (env.is_null()) return Status::ok();
  if (!env.is_object()) return wrong_type("runtime_env", "an object", env);
  Members members(env);
  RuntimeEnvSpec spec;
  std::string working_dir;
  FRAY_RETURN_IF_ERROR(members.texts("env_vars", &order->environment));
  FRAY_RETURN_IF_ERROR(members.text("working_dir", &working_dir));
  FRAY_RETURN_IF_ERROR(set_working_dir(working_dir, packages, &spec, order));
  json pip = members.take("pip");
  json uv = members.take("uv");
  if (!pip.is_null() && !uv.is_null()) return wrong("runtime_env: pip and uv cannot both be given");
  FRAY_RETURN_IF_ERROR(take_packages("pip", std::move(pip), &spec.packages));
  FRAY_RETURN_IF_ERROR(take_packages("uv", std::move(uv), &spec.packages));
  FRAY_RETURN_IF_ERROR(take_conda(members.take("conda"), &spec.conda));
  FRAY_RETURN_IF_ERROR(members.text("image_uri", &spec.container_image));
  // Keys that the client has handled itself, or that concern clusters of several machines only.
  for (const char* key : {"config", "excludes", "_ray_release", "_ray_commit", "_inject_current_ray"}) {
    members.take_silently(key);
  }
  FRAY_RETURN_IF_ERROR(members.end());
  return finish(std::move(spec), python, order);
}

}  // namespace fray::http
