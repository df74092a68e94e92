#include "cli/python_program.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/exit_codes.h"

namespace fray::cli {

namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

fs::path own_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

// <prefix>/bin/fray, or <environment>/lib/pythonX.Y/site-packages/fray/_bin/fray. Empty: neither.
fs::path own_environment() {
  const fs::path self = own_program();
  if (self.parent_path().filename() == "bin") return self.parent_path().parent_path();
  for (fs::path folder = self.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() == "site-packages") return folder.parent_path().parent_path().parent_path();
  }
  return {};
}

// "python3.12" where the package beside this program was built for it, as its extension's name says. Users' packages and
// those of `pip install --target` lie beside no interpreter, and another version's cannot load them. Empty: no package.
std::string own_python_name() {
  constexpr std::string_view kExtension = "_native.cpython-3";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(own_program().parent_path().parent_path(), ignored)) {
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

fs::path python_of(const fs::path& environment) {
  for (const char* name : {"python3", "python"}) {
    if (fs::path found = environment / "bin" / name; !environment.empty() && is_program(found)) return found;
  }
  return {};
}

}  // namespace

std::string find_program(const std::string& name) {
  std::vector<fs::path> folders = folders_on_path();
  if (fs::path own = own_environment(); !own.empty()) folders.insert(folders.begin(), own / "bin");
  for (const fs::path& folder : folders) {
    if (is_program(folder / name)) return (folder / name).string();
  }
  return {};
}

Result<std::string> find_python(const std::string& asked) {
  if (!asked.empty()) {
    if (asked.find('/') != std::string::npos && is_program(asked)) return asked;
    std::string found = asked.find('/') == std::string::npos ? find_program(asked) : "";
    if (!found.empty()) return found;
    return Status(StatusCode::kNotFound, fmt::format("--python {} is no program", asked));
  }
  if (fs::path own = python_of(own_environment()); !own.empty()) return own.string();
  const char* active = std::getenv("VIRTUAL_ENV");
  if (fs::path found = python_of(active == nullptr ? "" : active); !found.empty()) return found.string();
  for (const std::string& name : {own_python_name(), std::string("python3")}) {
    if (name.empty()) continue;
    if (std::string found = find_program(name); !found.empty()) return found;
  }
  return Status(StatusCode::kNotFound,
                "no Python was found beside this program, in $VIRTUAL_ENV or on the PATH; name one with --python PATH");
}

int become_program(const char* command, std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(words.front().c_str(), pointers.data());
  fmt::print(stderr, "{}: {} cannot be started: {}\n", command, words.front(), std::strerror(errno));
  return kExitFailed;
}

}  // namespace fray::cli
