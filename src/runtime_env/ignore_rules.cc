#include "runtime_env/ignore_rules.h"

#include <utility>

namespace fray::runtime_env {

void IgnoreRules::enter(std::string_view folder, IgnoreFile file) {
  folders_.push_back({folder.empty() ? 0 : folder.size() + 1, std::move(file)});
}

bool IgnoreRules::ignores(std::string_view path, bool is_folder) const {
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
    if (auto said = folder->file.decide(path.substr(folder->prefix), is_folder)) return *said;
  }
  return false;
}

}  // namespace fray::runtime_env
