#include "node/environments/cached_environments.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/runtime_env_spec.h"
#include "runtime_env/build_watch.h"

namespace fray::node {

namespace {

// The container engine starts the processes of a container and puts them into control groups of its own.
void limit_container(JobLaunch& launch) {
  auto run = std::find(launch.command.begin(), launch.command.end(), "run");
  if (run == launch.command.end()) return;
  std::vector<std::string> options;
  if (launch.limits.memory_bytes > 0) options.push_back(fmt::format("--memory={}", launch.limits.memory_bytes));
  if (launch.limits.processes > 0) options.push_back(fmt::format("--pids-limit={}", launch.limits.processes));
  launch.command.insert(std::next(run), options.begin(), options.end());
  launch.limits = {.files = launch.limits.files};
}

JobEnvironments::Apply apply_of(runtime_env::PreparedEnv prepared, std::string python) {
  return [prepared = std::move(prepared), python = std::move(python)](JobLaunch& launch) {
    if (!prepared.python.empty() && !launch.command.empty() && launch.command.front() == python) {
      launch.command.front() = prepared.python;
    }
    launch.command = prepared.wrapped(launch.command);
    if (!prepared.wrapper.empty()) limit_container(launch);
    launch.folder = prepared.folder_instead_of(launch.folder);
    prepared.apply_to(launch.environment);
  };
}

}  // namespace

void CachedEnvironments::prepare(const std::string& job, const std::string& runtime_env, OnProgress on_progress,
                                 OnDone on_done) {
  forgotten_.clear();
  auto spec = parse_runtime_env_spec(runtime_env);
  if (!spec.is_ok()) return on_done(spec.status());
  if (spec->empty()) return on_done(Apply([](JobLaunch&) {}));
  Job& entry = jobs_[job];
  EnvPreparation::Events events;
  events.on_state = [this, job, on_progress = std::move(on_progress)] {
    on_progress(jobs_.at(job).preparation->state());
  };
  events.on_end = [this, job, python = spec->python, on_done](Result<runtime_env::PreparedEnv> prepared) {
    made(job, python, std::move(prepared), on_done);
  };
  entry.preparation = std::make_unique<EnvPreparation>(loop_, spawner_, std::move(events));
  Status started = entry.preparation->start(runtime_env, runtime_env::own_environment(), "/");
  if (started.is_ok()) return;
  forget(job);
  on_done(started);
}

void CachedEnvironments::made(const std::string& job, const std::string& python,
                              Result<runtime_env::PreparedEnv> prepared, const OnDone& on_done) {
  if (!prepared.is_ok()) return on_done(prepared.status());
  Job& entry = jobs_.at(job);
  for (const std::string& path : prepared->in_use) {
    auto use = runtime_env::EnvCache::use_path(path);
    if (!use.is_ok()) return on_done(use.status());
    entry.uses.push_back(std::move(use).value());
  }
  entry.preparation->let_go();
  on_done(apply_of(std::move(prepared).value(), python));
}

std::vector<std::string> CachedEnvironments::in_use(const std::string& job) const {
  std::vector<std::string> paths;
  if (auto found = jobs_.find(job); found != jobs_.end()) {
    for (const runtime_env::EnvUse& use : found->second.uses) paths.push_back(use.path());
  }
  return paths;
}

void CachedEnvironments::hold(const std::string& job, const std::vector<std::string>& in_use) {
  for (const std::string& path : in_use) {
    auto use = runtime_env::EnvCache::use_path(path);
    if (use.is_ok()) jobs_[job].uses.push_back(std::move(use).value());
  }
}

void CachedEnvironments::forget(const std::string& job) {
  auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  if (found->second.preparation) {
    found->second.preparation->let_go();
    forgotten_.push_back(std::move(found->second.preparation));
  }
  jobs_.erase(found);
}

bool CachedEnvironments::is_preparer(pid_t pid) const {
  auto is_it = [pid](const EnvPreparation* preparation) { return preparation != nullptr && preparation->pid() == pid; };
  return std::any_of(jobs_.begin(), jobs_.end(),
                     [&](const auto& entry) { return is_it(entry.second.preparation.get()); }) ||
         std::any_of(forgotten_.begin(), forgotten_.end(), [&](const auto& each) { return is_it(each.get()); });
}

}  // namespace fray::node
