#include "ray/job_request.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <sys/random.h>

#include "base/join.h"
#include "model/json_text.h"
#include "ray/job_details.h"

namespace fray::ray {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 14> kEnvKeys = {
    "working_dir", "py_modules", "excludes",      "env_vars",  "pip",       "uv",
    "conda",       "container",  "py_executable", "image_uri", "java_jars", "worker_process_setup_hook",
    "config",      "_nsight"};
constexpr std::string_view kLetters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz123456789";
constexpr std::size_t kDrawn = 16;
constexpr std::size_t kLongestId = 256;

Status wrong(const std::string& what) { return Status(StatusCode::kInvalidArgument, what); }

Status check_amount(std::string_view name, double amount) {
  if (std::isfinite(amount) && amount >= 0) return Status::ok();
  return wrong(fmt::format("{} is {}; a job's resources are numbers from 0 on", name, amount));
}

Status check_env_vars(const json& env) {
  auto vars = env.find("env_vars");
  if (vars == env.end()) return Status::ok();
  if (!vars->is_object()) return wrong("env_vars of a runtime env must be an object of names and texts");
  for (const auto& [name, value] : vars->items()) {
    if (name.empty() || name.find('=') != std::string::npos) {
      return wrong(fmt::format("\"{}\" cannot be the name of an environment variable", name));
    }
    if (!value.is_string()) {
      return wrong(
          fmt::format("the value of the environment variable {} must be a text, but is of type {}; write it "
                      "in quotes",
                      name, value.type_name()));
    }
  }
  return Status::ok();
}

Status check_env(const json& env) {
  if (!env.is_object())
    return wrong(fmt::format("a runtime env must be an object, but is of type {}", env.type_name()));
  for (const auto& [key, value] : env.items()) {
    if (std::find(kEnvKeys.begin(), kEnvKeys.end(), key) == kEnvKeys.end()) {
      return wrong(
          fmt::format("a runtime env of Ray has no key \"{}\"; the keys are {}", key, fmt::join(kEnvKeys, ", ")));
    }
  }
  if (env.contains("pip") + env.contains("conda") + env.contains("uv") > 1) {
    return wrong("a runtime env has one of pip, uv and conda, not several; list everything under one of them");
  }
  if (auto hook = env.find("worker_process_setup_hook"); hook != env.end() && !hook->is_string()) {
    return wrong("worker_process_setup_hook must be a text \"module.function\" for a job");
  }
  return check_env_vars(env);
}

}  // namespace

Status check(const JobRequest& request) {
  if (request.entrypoint.find_first_not_of(" \t\r\n") == std::string::npos) {
    return wrong("a job needs a command; write it after --, as in -- python train.py");
  }
  if (request.entrypoint.find('\0') != std::string::npos) return wrong("the command has a zero byte");
  const std::string& id = request.submission_id;
  const bool printable = std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 0x7F && c != '/'; });
  if (!printable || id.size() > kLongestId) {
    return wrong(fmt::format("a submission id has letters, digits and marks without spaces and slashes, {} at most",
                             kLongestId));
  }
  FRAY_RETURN_IF_ERROR(check_amount("cpus", request.cpus.value_or(0)));
  FRAY_RETURN_IF_ERROR(check_amount("gpus", request.gpus.value_or(0)));
  for (const auto& [name, amount] : request.resources) FRAY_RETURN_IF_ERROR(check_amount(name, amount));
  return check_env(request.runtime_env);
}

std::string new_submission_id() {
  std::array<unsigned char, 64> drawn{};
  std::string id = "raysubmit_";
  const std::size_t wanted = id.size() + kDrawn;
  while (id.size() < wanted) {
    if (::getrandom(drawn.data(), drawn.size(), 0) < 0) continue;
    for (unsigned char byte : drawn) {
      // The remaining bytes are discarded: they would make some letters likelier than others.
      if (byte < 256 / kLetters.size() * kLetters.size() && id.size() < wanted) id += kLetters[byte % kLetters.size()];
    }
  }
  return id;
}

std::string submit_body(const JobRequest& request, const std::string& mark) {
  json metadata = request.metadata;
  if (!mark.empty()) metadata[kSubmissionKey] = mark;
  json body = {{"entrypoint", request.entrypoint},
               {"submission_id", request.submission_id},
               {"runtime_env", request.runtime_env},
               {"metadata", metadata}};
  // Servers refuse keys that they do not know, so keys without a value are not sent.
  if (request.cpus) body["entrypoint_num_cpus"] = *request.cpus;
  if (request.gpus) body["entrypoint_num_gpus"] = *request.gpus;
  if (request.memory_bytes) body["entrypoint_memory"] = *request.memory_bytes;
  if (!request.resources.empty()) body["entrypoint_resources"] = request.resources;
  if (!request.label_selector.empty()) body["entrypoint_label_selector"] = request.label_selector;
  return json_text(body);
}

bool is_local_path(const std::string& text) { return text.find("://") == std::string::npos; }

Result<json> read_requirements(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status::io_error("cannot read the requirements in " + path, errno);
  json packages = json::array();
  for (std::string line; std::getline(file, line);) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    packages.push_back(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
  }
  return packages;
}

}  // namespace fray::ray
