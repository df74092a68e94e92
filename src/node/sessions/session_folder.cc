#include "node/sessions/session_folder.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "model/json_text.h"
#include "os/files/run_folder.h"
#include "os/machine/machine.h"

namespace fray::node {

namespace {

namespace fs = std::filesystem;
using door::kInfoName;
using door::kLockName;
using door::kSocketName;

std::string random_name() {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != static_cast<ssize_t>(sizeof(number))) {
    number = static_cast<std::uint32_t>(::getpid());
  }
  return fmt::format("{:08x}", number);
}

// Whether `file` is still the file at `path`: a lock on a file that was removed or replaced protects nothing.
bool lies_at(const os::Fd& file, const std::string& path) {
  struct stat held {};
  struct stat found {};
  return ::fstat(file.get(), &held) == 0 && ::lstat(path.c_str(), &found) == 0 && held.st_ino == found.st_ino &&
         held.st_dev == found.st_dev;
}

// Programs that only check the lock hold it for an instant, so taking it is tried more than once.
Result<os::Fd> take_lock(const std::string& folder) {
  constexpr int kTries = 25;
  const std::string path = folder + kLockName;
  for (int left = kTries; left > 0; --left) {
    FRAY_RETURN_IF_ERROR(os::make_private_folder(folder));
    os::Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!lock.is_open() && errno == ENOENT) continue;  // the folder was just removed
    if (!lock.is_open()) return Status::io_error("cannot create the lock in " + folder, errno);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      if (lies_at(lock, path)) return lock;
    } else {
      timespec pause{0, 4'000'000};
      ::nanosleep(&pause, nullptr);
    }
  }
  return Status(StatusCode::kAlreadyExists, fmt::format("another node runs in {}", folder));
}

void remove_folder(const std::string& folder) {
  // The lock goes first but one: a folder that is removed half-way must not look like one that is being made.
  for (const char* name : {kSocketName, kInfoName}) ::unlink((folder + name).c_str());
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace

Result<SessionFolder> SessionFolder::create(const std::string& path) {
  std::string folder = path;
  if (folder.empty()) {
    FRAY_ASSIGN_OR_RETURN(std::string run_folder, os::open_run_folder());
    remove_stale_sessions(run_folder);
    folder = run_folder + "/" + random_name();
  }
  FRAY_ASSIGN_OR_RETURN(os::Fd lock, take_lock(folder));
  ::unlink((folder + kSocketName).c_str());
  return SessionFolder(std::move(folder), std::move(lock));
}

SessionFolder::~SessionFolder() {
  // A folder that was removed under this node, and was made anew, is another node's.
  if (lock_.is_open() && lies_at(lock_, path_ + kLockName)) remove_folder(path_);
}

Status SessionFolder::announce(pid_t pid, const std::string& release) {
  nlohmann::json info = {
      {"pid", pid}, {"started_ticks", os::start_ticks(pid)}, {"socket", socket_path()}, {"release", release}};
  std::string text = json_text(info);
  // Written completely or not at all, because other processes read it at any time.
  const std::string path = path_ + kInfoName;
  const std::string draft = path + ".new";
  os::Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return Status::io_error("cannot write node.json in " + path_, errno);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::rename(draft.c_str(), path.c_str()) != 0) {
    return Status::io_error("cannot write node.json in " + path_, errno);
  }
  return Status::ok();
}

void remove_stale_sessions(const std::string& run_folder) {
  for (const std::string& folder : door::subfolders(run_folder)) {
    if (door::life_of(folder) != door::Life::kDead) continue;
    const std::string path = folder + kLockName;
    os::Fd lock(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!lock.is_open() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !lies_at(lock, path)) continue;
    remove_folder(folder);
  }
}

}  // namespace fray::node
