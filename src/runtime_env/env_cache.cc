#include "runtime_env/env_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/fault.h"
#include "model/json_text.h"
#include "os/files/run_folder.h"
#include "os/machine/machine.h"

namespace fray::runtime_env {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kNote = "/entry.json";
constexpr const char* kUse = "/in_use";
constexpr std::chrono::milliseconds kLockPause{20};
constexpr std::chrono::milliseconds kUsePause{5};
constexpr int kUseTries = 400;

// Removes a tree whose files and folders may be read-only, as those of snapshots are.
void remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  for (auto each = fs::recursive_directory_iterator(path, error); each != fs::recursive_directory_iterator();) {
    std::error_code ignored;
    if (each->is_directory(ignored) && !each->is_symlink(ignored)) {
      fs::permissions(each->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
    each.increment(error);
    if (error) break;
  }
  fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, error);
  fs::remove_all(path, error);
}

std::uint64_t size_of(const std::string& path) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (auto each = fs::recursive_directory_iterator(path, error); each != fs::recursive_directory_iterator();) {
    struct stat found {};
    if (::lstat(each->path().c_str(), &found) == 0) bytes += static_cast<std::uint64_t>(found.st_blocks) * 512;
    each.increment(error);
    if (error) break;
  }
  return bytes;
}

Status make_folders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Status(StatusCode::kIoError, fmt::format("cannot create {}: {}", path, error.message()));
  return Status::ok();
}

Status write_note(const std::string& folder, const std::string& kind, const std::string& content) {
  const json note = {{"kind", kind},
                     {"content", content},
                     {"bytes", size_of(folder)},
                     {"made_at", static_cast<std::int64_t>(::time(nullptr))}};
  std::ofstream file(folder + kNote);
  file << json_text(note) << "\n" << std::flush;
  std::ofstream use(folder + kUse);
  if (file.good() && use.good()) return Status::ok();
  return Status(StatusCode::kIoError, fmt::format("cannot write into {}: is the disk full?", folder));
}

Result<std::string> default_folder() {
  FRAY_RETURN_IF_ERROR(os::check_home());
  if (const char* home = std::getenv("FRAY_HOME"); home != nullptr && *home == '/') return std::string(home) + "/cache";
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::string(cache) + "/fray";
  }
  if (const char* user = std::getenv("HOME"); user != nullptr && *user == '/') {
    return std::string(user) + "/.cache/fray";
  }
  return Status(
      StatusCode::kInvalidArgument,
      "there is no folder for cached environments: set FRAY_HOME, XDG_CACHE_HOME or HOME to an absolute path");
}

bool is_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

}  // namespace

Result<EnvCache> EnvCache::open() {
  FRAY_ASSIGN_OR_RETURN(std::string folder, default_folder());
  return open(folder);
}

Result<EnvCache> EnvCache::open(const std::string& folder) {
  const std::string parent = fs::path(folder).parent_path().string();
  FRAY_RETURN_IF_ERROR(make_folders(parent));
  // Programs in this folder are run, so no other user may write to it.
  FRAY_RETURN_IF_ERROR(os::make_private_folder(folder));
  for (const char* name : {"/entries", "/locks", "/tmp"}) FRAY_RETURN_IF_ERROR(make_folders(folder + name));
  return EnvCache(folder);
}

Result<EnvUse> EnvCache::use(const std::string& name) const {
  if (!is_name(name)) return Status(StatusCode::kInvalidArgument, fmt::format("{:?} names no environment", name));
  return use_path(entry_path(name));
}

Result<EnvUse> EnvCache::use_path(const std::string& path) {
  // A process that lists entries, or removes one, locks each for a moment, so locking is tried again.
  for (int tries = 0; tries < kUseTries; ++tries) {
    os::Fd file(::open((path + kUse).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!file.is_open() && errno != ENOENT && errno != ENOTDIR) return Status::io_error("cannot open " + path, errno);
    if (!file.is_open()) break;
    if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) {
      std::this_thread::sleep_for(kUsePause);
      continue;
    }
    if (::access((path + kUse).c_str(), F_OK) != 0) break;  // removed between open() and flock()
    ::futimens(file.get(), nullptr);                        // best effort: records that the entry was used
    return EnvUse(path, std::move(file));
  }
  return Status(StatusCode::kNotFound, fmt::format("there is no environment at {}", path));
}

Result<EnvUse> EnvCache::obtain(const std::string& name, const std::string& kind, const Make& make,
                                const Wait& wait) const {
  auto known = use(name);
  if (known.is_ok() || known.status().code() != StatusCode::kNotFound) return known;
  FRAY_ASSIGN_OR_RETURN(os::Fd mine, lock(name, wait));
  known = use(name);  // the process that had the lock may have made it
  if (known.is_ok() || known.status().code() != StatusCode::kNotFound) return known;
  remove_leftovers(name);
  return make_entry(name, kind, make);
}

Result<os::Fd> EnvCache::lock(const std::string& name, const Wait& wait) const {
  const std::string path = folder_ + "/locks/" + name;
  os::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return Status::io_error("cannot open " + path, errno);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return Status::io_error("cannot lock " + path, errno);
    FRAY_RETURN_IF_ERROR(wait());
    std::this_thread::sleep_for(kLockPause);
  }
  return file;
}

Result<EnvUse> EnvCache::make_entry(const std::string& name, const std::string& kind, const Make& make) const {
  const std::string folder = fmt::format("{}/tmp/{}.{}", folder_, name, ::getpid());
  FRAY_RETURN_IF_ERROR(make_folders(folder));
  auto place = [&]() -> Status {
    FRAY_ASSIGN_OR_RETURN(std::string content, make(folder));
    FRAY_RETURN_IF_ERROR(write_note(folder, kind, content));
    if (FRAY_FAULT("env.place", EIO) || ::rename(folder.c_str(), entry_path(name).c_str()) != 0) {
      return Status::io_error("cannot move the environment into " + folder_, errno);
    }
    return Status::ok();
  };
  if (Status placed = place(); !placed.is_ok()) {
    remove_tree(folder);
    return placed;
  }
  return use(name);
}

// Removes what killed processes have left behind. The lock is held, so no process makes the entry now.
void EnvCache::remove_leftovers(const std::string& name) const {
  std::error_code error;
  for (const auto& each : fs::directory_iterator(folder_ + "/tmp", error)) {
    if (each.path().filename().string().starts_with(name + ".")) remove_tree(each.path().string());
  }
}

std::vector<EnvEntry> EnvCache::list() const {
  std::vector<EnvEntry> entries;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(folder_ + "/entries", error)) {
    const std::string path = each.path().string();
    json note = parse_json(os::read_text(path + kNote));
    struct stat used {};
    if (!note.is_object() || ::stat((path + kUse).c_str(), &used) != 0) continue;
    EnvEntry entry;
    entry.name = each.path().filename().string();
    entry.kind = note.value("kind", "");
    entry.content = note.value("content", "");
    entry.bytes = note.value("bytes", std::uint64_t{0});
    entry.used_at = used.st_mtim.tv_sec;
    os::Fd file(::open((path + kUse).c_str(), O_RDONLY | O_CLOEXEC));
    entry.in_use = file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const EnvEntry& left, const EnvEntry& right) {
    return std::tie(right.used_at, left.name) < std::tie(left.used_at, right.name);
  });
  return entries;
}

std::vector<EnvEntry> EnvCache::prune(std::uint64_t limit) const {
  std::vector<EnvEntry> entries = list();
  std::uint64_t total = 0;
  for (const EnvEntry& entry : entries) total += entry.bytes;
  std::vector<EnvEntry> removed;
  for (auto entry = entries.rbegin(); entry != entries.rend() && total > limit; ++entry) {
    if (!remove(*entry)) continue;
    total -= entry->bytes;
    removed.push_back(*entry);
  }
  return removed;
}

bool EnvCache::remove(const EnvEntry& entry) const {
  const std::string path = entry_path(entry.name);
  os::Fd file(::open((path + kUse).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return false;
  const std::string away = fmt::format("{}/tmp/{}.removed.{}", folder_, entry.name, ::getpid());
  if (::rename(path.c_str(), away.c_str()) != 0) return false;
  remove_tree(away);
  return true;
}

}  // namespace fray::runtime_env
