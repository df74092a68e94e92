#include "runtime_env/prepared_env.h"

#include <algorithm>
#include <filesystem>

#include "model/json_fields.h"

namespace fray::runtime_env {

namespace {

bool holds_packages(const std::string& folder) {
  return folder.ends_with("/site-packages") || folder.ends_with("/dist-packages");
}

bool lies_in(const std::string& path, const std::string& folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

std::string* find(Variables& environment, const std::string& name) {
  auto found =
      std::find_if(environment.begin(), environment.end(), [&](const auto& each) { return each.first == name; });
  return found == environment.end() ? nullptr : &found->second;
}

}  // namespace

void PreparedEnv::apply_to(Variables& environment) const {
  for (const auto& [name, value] : prepended) {
    if (std::string* before = find(environment, name); before == nullptr) {
      environment.emplace_back(name, value);
    } else {
      *before = before->empty() ? value : value + ":" + *before;
    }
  }
  for (const auto& [name, value] : set) {
    if (std::string* before = find(environment, name); before == nullptr) {
      environment.emplace_back(name, value);
    } else {
      *before = value;
    }
  }
}

std::vector<std::string> PreparedEnv::wrapped(const std::vector<std::string>& command) const {
  std::vector<std::string> whole = wrapper;
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

std::vector<std::string> PreparedEnv::module_path_for(const std::vector<std::string>& driver) const {
  std::vector<std::string> path;
  // Modules of the driver come from the snapshot, as far as it contains them; it has no virtual environment.
  if (!folder.empty()) path.push_back(folder);
  for (const std::string& entry : hides_driver ? std::vector<std::string>() : driver) {
    std::error_code ignored;
    if (!folder_was.empty() && lies_in(entry, folder_was)) {
      std::string there = folder + entry.substr(folder_was.size());
      if (std::filesystem::exists(there, ignored)) {
        if (there != folder) path.push_back(there);
        continue;
      }
      if (entry == folder_was) continue;
    }
    path.push_back(entry);
  }
  path.insert(std::find_if(path.begin(), path.end(), holds_packages), module_path.begin(), module_path.end());
  return path;
}

std::string to_json(const PreparedEnv& prepared) { return fields_text(prepared); }

Result<PreparedEnv> parse_prepared_env(std::string_view text) {
  return read_fields<PreparedEnv>(text, "a prepared runtime env does not fit its format");
}

}  // namespace fray::runtime_env
