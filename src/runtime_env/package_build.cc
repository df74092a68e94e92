#include "runtime_env/package_build.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/join.h"
#include "base/passwords.h"
#include "runtime_env/digest.h"
#include "runtime_env/text_lines.h"

namespace fray::runtime_env {

namespace {

namespace fs = std::filesystem;

// Part of the name of cached folders: change it when this file builds them differently.
constexpr std::string_view kPackageRecipe = "packages 1";

bool is_option(const std::string& line) { return line.starts_with("-"); }

// The local file that a requirement line names, or nothing.
std::string local_file(const std::string& line) {
  std::string path = line;
  if (const std::size_t at = line.find(" @ file://"); at != std::string::npos) path = line.substr(at + 10);
  if (path.starts_with("file://")) path = path.substr(7);
  return path.starts_with("/") ? path : "";
}

void add_file(Digest& digest, const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return;
  digest.add(fmt::format("{} {} {}", found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec));
}

// The names of the folders that describe installed packages contain their versions: numpy-2.1.0.dist-info.
std::set<std::string> installed(const std::vector<std::string>& folders) {
  std::set<std::string> names;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& each : fs::directory_iterator(folder, error)) {
      const std::string name = each.path().filename().string();
      if (name.ends_with(".dist-info") || name.ends_with(".egg-info") || name.ends_with(".egg-link")) {
        names.insert(folder + "/" + name);
      }
    }
  }
  return names;
}

Status write_lines(const std::string& path, const std::vector<std::string>& lines) {
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << "\n";
  file << std::flush;
  if (file.good()) return Status::ok();
  return Status(StatusCode::kIoError, fmt::format("cannot write {}: is the disk full?", path));
}

Variables quiet(Variables environment) {
  // Variables must not change where uv installs to.
  std::erase_if(environment, [](const auto& each) {
    return each.first == "VIRTUAL_ENV" || each.first == "CONDA_PREFIX" || each.first == "UV_PYTHON" ||
           each.first == "UV_SYSTEM_PYTHON" || each.first == "PYTHONPATH" || each.first == "PYTHONHOME";
  });
  PreparedEnv{.set = {{"NO_COLOR", "1"}, {"UV_NO_PROGRESS", "1"}}}.apply_to(environment);
  return environment;
}

std::vector<std::string> shown(const std::vector<std::string>& packages) {
  std::vector<std::string> lines;
  for (const std::string& line : packages) {
    if (!is_option(line)) lines.push_back(without_passwords(line));
  }
  return lines;
}

}  // namespace

std::string package_digest(const RuntimeEnvSpec& spec) {
  Digest digest;
  digest.add(kPackageRecipe).add(spec.python);
  std::error_code ignored;
  const fs::path python = fs::canonical(spec.python, ignored);
  digest.add(python.string());
  add_file(digest, python.string());
  // Lines in another order ask for the same.
  for (const std::string& line : std::set<std::string>(spec.packages.begin(), spec.packages.end())) {
    digest.add(line);
    if (const std::string path = local_file(line); !path.empty()) add_file(digest, path);
  }
  for (const std::string& name : installed(spec.site_packages)) digest.add(name);
  return digest.text();
}

Result<std::vector<std::string>> missing_packages(const std::string& dry_run_output) {
  std::vector<std::string> missing;
  bool is_plan = false;
  for (const std::string& line : lines_of(dry_run_output)) {
    is_plan = is_plan || line.starts_with("Would ");
    if (!line.starts_with(" + ")) continue;
    std::string package = line.substr(3);
    if (const std::size_t from = package.find(" (from "); from != std::string::npos && package.ends_with(")")) {
      const std::string address = package.substr(from + 7, package.size() - from - 8);
      package = package.substr(0, package.find("==")) + " @ " + address;
    }
    missing.push_back(std::move(package));
  }
  if (is_plan) return missing;
  return Status(StatusCode::kInternal,
                "uv's plan cannot be read; it printed:\n" + without_passwords(last_lines(dry_run_output, kShownLines)));
}

Status build_failed(const std::string& what, const std::string& program, const ProgramEnd& end) {
  return Status(StatusCode::kRuntimeEnv,
                fmt::format("{} failed: {} ended with code {}; its last lines:\n{}", what, program, end.exit_code,
                            without_passwords(last_lines(end.output, kShownLines))));
}

Result<std::string> install_packages(const RuntimeEnvSpec& spec, const std::string& folder, const std::string& uv,
                                     const Variables& environment, const BuildWatch& watch) {
  const std::string what = fmt::format("installing the packages {}", fmt::join(shown(spec.packages), ", "));
  auto say = [&](const std::string& line) { watch.say(what + ": " + without_passwords(line)); };
  watch.say(what + ": resolving");
  const std::string wanted = folder + "/wanted.txt";
  FRAY_RETURN_IF_ERROR(write_lines(wanted, spec.packages));
  Program program;
  program.environment = quiet(environment);
  program.folder = folder;
  program.command = {uv,   "pip",  "install",  "--dry-run", "--break-system-packages", "--color", "never",
                     "-r", wanted, "--python", spec.python};
  FRAY_ASSIGN_OR_RETURN(ProgramEnd planned, run_program(program, watch));
  if (planned.exit_code != 0) return build_failed(what, "uv", planned);
  FRAY_ASSIGN_OR_RETURN(std::vector<std::string> missing, missing_packages(planned.output));

  const std::string site = folder + "/site-packages";
  std::error_code error;
  fs::create_directories(site, error);
  if (error) return Status(StatusCode::kIoError, fmt::format("cannot create {}: {}", site, error.message()));
  const std::string installed = fmt::format("{}", fmt::join(missing, ", "));
  if (!missing.empty()) {
    std::vector<std::string> exact = missing;
    std::copy_if(spec.packages.begin(), spec.packages.end(), std::back_inserter(exact), is_option);
    FRAY_RETURN_IF_ERROR(write_lines(folder + "/exact.txt", exact));
    program.command = {uv,        "pip",   "install", "--no-deps",           "--target", site,
                       "--color", "never", "-r",      folder + "/exact.txt", "--python", spec.python};
    FRAY_ASSIGN_OR_RETURN(ProgramEnd done, run_program(program, watch, say));
    if (done.exit_code != 0) return build_failed(what, "uv", done);
  }
  // Requirement lines may contain passwords.
  fs::remove(wanted, error);
  fs::remove(folder + "/exact.txt", error);
  return without_passwords(installed);
}

}  // namespace fray::runtime_env
