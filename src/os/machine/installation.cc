#include "os/machine/installation.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace fray::os {

namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string python_name_in(const fs::path& package) {
  constexpr std::string_view kExtension = "_native.cpython-3";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(package, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kExtension)) continue;
    return "python3." + name.substr(kExtension.size(), name.find('-', kExtension.size()) - kExtension.size());
  }
  return {};
}

std::vector<fs::path> folders_on_path() {
  std::vector<fs::path> folders;
  const char* text = std::getenv("PATH");
  std::istringstream list(text == nullptr ? "" : text);
  for (std::string folder; std::getline(list, folder, ':');) folders.emplace_back(folder.empty() ? "." : folder);
  return folders;
}

}  // namespace

std::string own_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).string();
}

Installation Installation::of(const std::string& file) {
  Installation found;
  const fs::path beside = fs::path(file).parent_path();
  if (beside.filename() == "bin") found.environment = beside.parent_path().string();
  for (fs::path folder = beside; folder.has_relative_path(); folder = folder.parent_path()) {
    if (found.python_name.empty() && folder.filename() == "fray") found.python_name = python_name_in(folder);
    if (folder.filename() != "site-packages") continue;
    found.site_packages = folder.string();
    if (found.environment.empty()) found.environment = folder.parent_path().parent_path().parent_path().string();
    break;
  }
  return found;
}

std::string find_program(const std::string& name, const Installation& own) {
  std::vector<fs::path> folders = folders_on_path();
  if (!own.environment.empty()) folders.insert(folders.begin(), fs::path(own.environment) / "bin");
  for (const fs::path& folder : folders) {
    if (is_program(folder / name)) return (folder / name).string();
  }
  return {};
}

std::string python_of(const std::string& environment) {
  if (environment.empty()) return {};
  for (const char* name : {"python3", "python"}) {
    if (const fs::path found = fs::path(environment) / "bin" / name; is_program(found)) return found.string();
  }
  return {};
}

std::string find_python(const Installation& own) {
  if (std::string found = python_of(own.environment); !found.empty()) return found;
  const char* active = std::getenv("VIRTUAL_ENV");
  if (std::string found = python_of(active == nullptr ? "" : active); !found.empty()) return found;
  for (const std::string& name : {own.python_name, std::string("python3")}) {
    if (name.empty()) continue;
    if (std::string found = find_program(name, own); !found.empty()) return found;
  }
  return {};
}

}  // namespace fray::os
