#include "door/session_info.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "os/fd.h"
#include "os/files/run_folder.h"
#include "os/machine/machine.h"

namespace fray::door {

namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLookPause{20};

// A member of another type counts as missing, because any release may have written the file.
template <typename T>
T member_of(const nlohmann::json& info, const char* name) {
  auto found = info.is_object() ? info.find(name) : info.end();
  const bool fits = found != info.end() && (std::is_same_v<T, std::string> ? found->is_string() : found->is_number());
  return fits ? found->get<T>() : T();
}

}  // namespace

Life life_of(const std::string& folder) {
  os::Fd lock(::open((folder + kLockName).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!lock.is_open()) return Life::kUnknown;
  if (::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return Life::kDead;
  return Life::kAlive;
}

std::vector<std::string> subfolders(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) found.push_back(entry->path().string());
  }
  return found;
}

std::string release_in(const std::string& folder) {
  return member_of<std::string>(parse_json(os::read_text(folder + kInfoName)), "release");
}

std::optional<SessionInfo> find_session(const std::string& folder) {
  if (life_of(folder) != Life::kAlive) return std::nullopt;
  const nlohmann::json info = parse_json(os::read_text(folder + kInfoName));
  struct stat found {};
  if (!info.is_object() || ::stat((folder + kInfoName).c_str(), &found) != 0) return std::nullopt;
  return SessionInfo{folder,
                     folder + kSocketName,
                     member_of<std::string>(info, "release"),
                     {member_of<pid_t>(info, "pid"), member_of<std::uint64_t>(info, "started_ticks")},
                     found.st_mtim};
}

std::optional<SessionInfo> await_session(const std::string& folder, const Patience& patience) {
  std::optional<SessionInfo> found;
  while (!(found = find_session(folder)) && life_of(folder) == Life::kAlive && check(patience).is_ok()) {
    ::poll(nullptr, 0, static_cast<int>(kLookPause.count()));  // nothing reports the file that the node writes then
  }
  return found;
}

std::vector<SessionInfo> find_sessions() {
  std::vector<SessionInfo> sessions;
  for (const std::string& folder : subfolders(os::run_folder_path())) {
    if (auto session = find_session(folder)) sessions.push_back(std::move(*session));
  }
  std::sort(sessions.begin(), sessions.end(), [](const SessionInfo& a, const SessionInfo& b) {
    return std::pair(a.started.tv_sec, a.started.tv_nsec) > std::pair(b.started.tv_sec, b.started.tv_nsec);
  });
  return sessions;
}

}  // namespace fray::door
