#include "door/find_node.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "os/files/run_folder.h"

namespace fray::door {

namespace {

namespace fs = std::filesystem;

constexpr const char* kNodeOfJob = "FRAY_NODE";

Result<FoundNode> find_started() {
  FRAY_RETURN_IF_ERROR(os::check_home());
  const std::string folder = os::started_node_folder();
  std::error_code ignored;  // a folder without read permission has no node for this user
  if (fs::exists(folder + kSocketName, ignored)) return FoundNode{folder + kSocketName, {}};
  return Status(StatusCode::kUnavailable,
                fmt::format("no node of this home runs (there is no {}). Start one with `fray start`, or leave out the "
                            "address for a node of this program's own",
                            folder + kSocketName));
}

Result<FoundNode> find_at(const std::string& address) {
  if (address.find_first_not_of(" \t\n") == std::string::npos || address.find('\0') != std::string::npos) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("address must be 'auto' or the path of a socket or a home, got '{}'",
                              address.substr(0, address.find('\0'))));
  }
  if (address == "auto") return find_started();
  std::error_code error;
  fs::path path = fs::absolute(address, error).lexically_normal();
  if (error) path = address;
  if (!fs::is_directory(path, error)) return FoundNode{path.string(), {}};
  const std::string folder = path.has_filename() ? path.string() : path.parent_path().string();
  const std::string of_node = folder + kSocketName;
  const std::string of_home = folder + "/run/node" + kSocketName;
  for (const std::string& socket : {of_node, of_home}) {
    if (fs::exists(socket, error)) return FoundNode{socket, {}};
  }
  return Status(StatusCode::kUnavailable,
                fmt::format("no node runs in the folder {} (there is none of {}, {}). Start one with `FRAY_HOME={} "
                            "fray start`",
                            folder, of_node, of_home, folder));
}

}  // namespace

std::optional<std::string> node_of_this_job() {
  const char* address = std::getenv(kNodeOfJob);
  if (address == nullptr || *address == '\0') return std::nullopt;
  return address;
}

Result<FoundNode> find_node(const std::optional<std::string>& address, Others others) {
  if (address) return find_at(*address);
  if (auto own = node_of_this_job()) return find_at(*own);
  FRAY_RETURN_IF_ERROR(os::check_home());
  if (auto started = find_session(os::started_node_folder())) return FoundNode{started->socket, {}};
  std::vector<SessionInfo> sessions;
  if (others == Others::kTake) sessions = find_sessions();
  if (sessions.empty()) {
    return Status(
        StatusCode::kUnavailable,
        fmt::format("no node of this {} runs (looked in {})\nhint: `fray start` starts one that stays; an embedded "
                    "node lives as long as its program; --socket names a node by its socket",
                    others == Others::kTake ? "user" : "home", os::run_folder_path()));
  }
  std::string newest = sessions.front().socket;
  if (sessions.size() == 1) sessions.clear();
  return FoundNode{std::move(newest), std::move(sessions)};
}

}  // namespace fray::door
