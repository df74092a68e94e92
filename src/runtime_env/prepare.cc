#include "runtime_env/prepare.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <sys/stat.h>

#include "runtime_env/conda_build.h"
#include "runtime_env/container.h"
#include "runtime_env/package_build.h"
#include "runtime_env/snapshot.h"

namespace fray::runtime_env {

namespace {

namespace fs = std::filesystem;

Result<std::string> find_uv(const RuntimeEnvSpec& spec, const Variables& environment) {
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  std::vector<std::string> folders = {fs::path(spec.python).parent_path().string(), self.parent_path().string()};
  if (const char* home = std::getenv("HOME")) folders.push_back(std::string(home) + "/.local/bin");
  if (std::string found = find_program("uv", folders, environment); !found.empty()) return found;
  return Status(
      StatusCode::kRuntimeEnv,
      "the runtime env names packages, but uv, which installs them, is neither beside the interpreter nor on the "
      "PATH; `pip install uv` puts it there");
}

class Preparer {
 public:
  Preparer(const RuntimeEnvSpec& spec, const EnvCache& cache, const Variables& environment, const BuildWatch& watch)
      : spec_(spec), cache_(cache), environment_(environment), watch_(watch) {}

  Result<Preparation> prepare() {
    FRAY_RETURN_IF_ERROR(add_folder());
    if (!spec_.container_image.empty()) {
      FRAY_RETURN_IF_ERROR(add_container());
    } else if (!spec_.conda.empty()) {
      FRAY_RETURN_IF_ERROR(add_conda());
    } else if (!spec_.packages.empty()) {
      FRAY_RETURN_IF_ERROR(add_packages());
    }
    return std::move(made_);
  }

 private:
  PreparedEnv& prepared() { return made_.prepared; }

  void keep(EnvUse use) {
    prepared().in_use.push_back(use.path());
    made_.uses.push_back(std::move(use));
  }

  Result<std::string> obtain(const std::string& name, const std::string& kind, const EnvCache::Make& make) {
    auto wait = [this] {
      watch_.say("another process makes the same environment; waiting for it");
      return watch_.still_wanted();
    };
    FRAY_ASSIGN_OR_RETURN(EnvUse use, cache_.obtain(name, kind, make, wait));
    std::string path = use.path();
    keep(std::move(use));
    return path;
  }

  Status add_folder() {
    if (!spec_.snapshot.empty()) {
      FRAY_ASSIGN_OR_RETURN(EnvUse use, EnvCache::use_path(spec_.snapshot));
      keep(std::move(use));
    } else if (!spec_.working_dir.empty()) {
      FRAY_ASSIGN_OR_RETURN(EnvUse use, take_snapshot(cache_, spec_.working_dir, watch_));
      keep(std::move(use));
    } else {
      return Status::ok();
    }
    prepared().folder = made_.uses.back().path() + "/tree";
    std::error_code ignored;
    if (fs::is_directory(spec_.working_dir, ignored)) prepared().folder_was = spec_.working_dir;
    prepared().prepended.emplace_back("PYTHONPATH", prepared().folder);
    return Status::ok();
  }

  Status add_packages() {
    FRAY_ASSIGN_OR_RETURN(const std::string uv, find_uv(spec_, environment_));
    auto make = [&](const std::string& folder) { return install_packages(spec_, folder, uv, environment_, watch_); };
    FRAY_ASSIGN_OR_RETURN(const std::string path, obtain("py-" + package_digest(spec_), "packages", make));
    const std::string site = path + "/site-packages";
    prepared().module_path.push_back(site);
    prepend("PYTHONPATH", site);
    std::error_code ignored;
    if (fs::exists(site + "/bin", ignored)) prepend("PATH", site + "/bin");
    return Status::ok();
  }

  // The modules of the snapshot precede packages, as a driver's own modules do.
  void prepend(const std::string& name, const std::string& value) {
    for (auto& [known, list] : prepared().prepended) {
      if (known == name) {
        list += ":" + value;
        return;
      }
    }
    prepared().prepended.emplace_back(name, value);
  }

  Status add_conda() {
    FRAY_ASSIGN_OR_RETURN(const std::string conda, find_conda(environment_));
    FRAY_ASSIGN_OR_RETURN(const std::string version, python_version(spec_.python, environment_, watch_));
    auto make = [&](const std::string& folder) {
      return make_conda_env(spec_, version, folder, conda, environment_, watch_);
    };
    FRAY_ASSIGN_OR_RETURN(const std::string path, obtain("conda-" + conda_digest(spec_, version), "conda", make));
    const std::string env = path + "/env";
    prepared().python = env + "/bin/python";
    prepend("PATH", env + "/bin");
    prepared().set = {{"CONDA_PREFIX", env}};
    prepared().own_module_path = true;
    return Status::ok();
  }

  Status add_container() {
    FRAY_ASSIGN_OR_RETURN(const ContainerEngine engine, find_container_engine(cache_, spec_, environment_, watch_));
    prepared().wrapper = container_command(engine, spec_, prepared().folder, environment_);
    prepared().python = "python3";
    prepared().own_module_path = true;
    prepared().hides_driver = true;
    prepared().module_path = {kContainerHome};
    // In the container PYTHONPATH has only the snapshot and Fray itself, no folder of the driver.
    prepend("PYTHONPATH", kContainerHome);
    prepared().set = std::exchange(prepared().prepended, {});
    return Status::ok();
  }

  const RuntimeEnvSpec& spec_;
  const EnvCache& cache_;
  const Variables& environment_;
  const BuildWatch& watch_;
  Preparation made_;
};

}  // namespace

Result<Preparation> prepare(const RuntimeEnvSpec& spec, const EnvCache& cache, const Variables& environment,
                            const BuildWatch& watch) {
  return Preparer(spec, cache, environment, watch).prepare();
}

}  // namespace fray::runtime_env
