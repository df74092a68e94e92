#include "os/files/run_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "os/fd.h"

namespace fray::os {

namespace {

constexpr std::size_t kLongestHome = 400;  // SQLite takes paths of 512 bytes, and files lie some folders deep in a home

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : nullptr;
}

// Makes a folder that only this user can enter, whatever the umask is. False, with errno set, also if it exists.
bool make_folder(const std::string& path) {
  return ::mkdir(path.c_str(), 0700) == 0 && ::chmod(path.c_str(), 0700) == 0;
}

// A full disk may have room later, so that error is not the user's mistake; any other place has to be changed.
Status cannot(const std::string& what, int error) {
  const std::string text = fmt::format("{}: {}", what, std::strerror(error));
  if (error == ENOSPC || error == EDQUOT || error == EIO || error == EMFILE || error == ENFILE || error == ENOMEM) {
    return Status(StatusCode::kIoError, text);
  }
  return Status(StatusCode::kInvalidArgument, text + "; set FRAY_HOME to a folder of yours");
}

Status make_parents(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    std::string parent = path.substr(0, slash);
    if (!make_folder(parent) && errno != EEXIST && errno != EROFS && errno != EACCES) {
      return cannot("cannot create " + parent, errno);
    }
  }
  return Status::ok();
}

}  // namespace

std::string run_folder_path() {
  if (const char* home = variable("FRAY_HOME")) return std::string(home) + "/run";
  if (const char* runtime = variable("XDG_RUNTIME_DIR")) return std::string(runtime) + "/fray";
  return fmt::format("/tmp/fray-{}", ::getuid());
}

std::string started_node_folder() { return run_folder_path() + "/node"; }

std::string home_path() {
  if (const char* home = variable("FRAY_HOME")) return home;
  if (const char* state = variable("XDG_STATE_HOME")) return std::string(state) + "/fray";
  if (const char* user = variable("HOME")) return std::string(user) + "/.local/state/fray";
  return run_folder_path();
}

Status check_home() {
  const char* given = std::getenv("FRAY_HOME");
  if (given != nullptr && *given != '\0' && *given != '/') {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("FRAY_HOME must be an absolute path, got {}; write the whole path", given));
  }
  const std::string home = home_path();
  if (!is_utf8(home)) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("Fray's home must be a path in UTF-8, got {}; set FRAY_HOME to another folder", shown_utf8(home)));
  }
  if (home.size() > kLongestHome) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("Fray's home must be a path of at most {} bytes, got {}; set FRAY_HOME to a shorter one",
                              kLongestHome, home.size()));
  }
  return Status::ok();
}

Result<std::string> open_home_folder(const std::string& name) {
  FRAY_RETURN_IF_ERROR(check_home());
  std::string path = home_path() + "/" + name;
  FRAY_RETURN_IF_ERROR(make_parents(path));
  FRAY_RETURN_IF_ERROR(make_private_folder(path));
  return path;
}

Status make_private_folder(const std::string& path) {
  if (!make_folder(path) && errno != EEXIST) return cannot("cannot create " + path, errno);
  Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open()) {
    if (errno == ELOOP || errno == ENOTDIR) {
      return Status(
          StatusCode::kInvalidArgument,
          fmt::format("{} is a symbolic link or no folder; remove it, or set FRAY_HOME to a folder of yours", path));
    }
    return cannot("cannot open " + path, errno);
  }
  struct stat found {};
  if (::fstat(folder.get(), &found) != 0) return Status::io_error("cannot look at " + path, errno);
  if (found.st_uid != ::getuid() || (found.st_mode & 0777) != 0700) {
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("{} must belong to user {} with mode 0700, but belongs to user {} with mode {:04o}; "
                              "remove it, or set FRAY_HOME to a folder of yours",
                              path, ::getuid(), found.st_uid, found.st_mode & 0777));
  }
  return Status::ok();
}

Result<std::string> open_run_folder() {
  FRAY_RETURN_IF_ERROR(check_home());
  std::string path = run_folder_path();
  FRAY_RETURN_IF_ERROR(make_parents(path));
  FRAY_RETURN_IF_ERROR(make_private_folder(path));
  return path;
}

}  // namespace fray::os
