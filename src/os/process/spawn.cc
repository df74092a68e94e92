#include "os/process/spawn.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/fd.h"

namespace fray::os {

namespace {

// posix_spawn's tables, freed at the end of the scope.
struct Actions {
  posix_spawn_file_actions_t value;
  Actions() { ::posix_spawn_file_actions_init(&value); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&value); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
};

struct Attributes {
  posix_spawnattr_t value;
  Attributes() { ::posix_spawnattr_init(&value); }
  ~Attributes() { ::posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
};

void add_standard(posix_spawn_file_actions_t* actions, int fd, int target) {
  if (fd >= 0) {
    ::posix_spawn_file_actions_adddup2(actions, fd, target);
  } else {
    ::posix_spawn_file_actions_addopen(actions, target, "/dev/null", target == 0 ? O_RDONLY : O_WRONLY, 0);
  }
}

// Names the variables that are too long, without their values, which may be secrets.
std::string too_long(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  constexpr std::size_t kMostOfOne = 128u << 10;  // MAX_ARG_STRLEN, with the zero byte
  for (const std::string& variable : environment) {
    if (variable.size() < kMostOfOne) continue;
    return fmt::format(
        "cannot start {}: the variable {} has {} KiB, and Linux takes at most 128 KiB in one; hand it over "
        "in a file",
        command.front(), variable.substr(0, variable.find('=')), variable.size() >> 10);
  }
  std::size_t bytes = 0;
  for (const auto* texts : {&command, &environment}) {
    for (const std::string& text : *texts) bytes += text.size() + 1;
  }
  return fmt::format("cannot start {}: its arguments and variables have {} KiB together, more than Linux takes",
                     command.front(), bytes >> 10);
}

}  // namespace

std::vector<char*> exec_pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

Result<pid_t> spawn(const SpawnRequest& request) {
  if (request.command.empty()) return Status(StatusCode::kInvalidArgument, "there is no command to start");
  Actions actions;
  add_standard(&actions.value, -1, 0);
  add_standard(&actions.value, request.standard_output, 1);
  add_standard(&actions.value, request.standard_error, 2);
  // Copies above every number asked for, so that no dup2 overwrites a descriptor that is still to be copied.
  int highest = 2;
  for (const auto& [here, there] : request.fds) highest = std::max({highest, here, there});
  std::vector<Fd> copies;
  for (const auto& [here, there] : request.fds) {
    Fd copy(::fcntl(here, F_DUPFD_CLOEXEC, highest + 1));
    if (!copy.is_open()) return Status::io_error("fcntl", errno);
    ::posix_spawn_file_actions_adddup2(&actions.value, copy.get(), there);
    copies.push_back(std::move(copy));
  }
  if (!request.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions.value, request.folder.c_str());

  Attributes attributes;
  sigset_t signals;
  sigfillset(&signals);
  ::posix_spawnattr_setsigdefault(&attributes.value, &signals);
  sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes.value, &signals);
  ::posix_spawnattr_setpgroup(&attributes.value, 0);
  ::posix_spawnattr_setflags(&attributes.value, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> command = request.command;
  std::vector<std::string> environment;
  for (const auto& [name, value] : request.environment) environment.push_back(name + "=" + value);
  pid_t pid = -1;
  int error = FRAY_FAULT("spawn", EAGAIN)
                  ? errno
                  : ::posix_spawnp(&pid, command.front().c_str(), &actions.value, &attributes.value,
                                   exec_pointers(command).data(), exec_pointers(environment).data());
  if (error == 0) return pid;
  if (error == E2BIG) return Status(StatusCode::kInvalidArgument, too_long(command, environment));
  return Status(error == ENOENT ? StatusCode::kNotFound : StatusCode::kIoError,
                fmt::format("cannot start {} in folder {}: {}", request.command.front(),
                            request.folder.empty() ? "." : request.folder, std::strerror(error)));
}

std::vector<std::pair<std::string, std::string>> own_environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** each = ::environ; *each != nullptr; ++each) {
    const std::string text = *each;
    if (const std::size_t equals = text.find('=', 1); equals != std::string::npos) {
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

Spawner& spawner() {
  struct RealSpawner : Spawner {
    Result<pid_t> spawn(const SpawnRequest& request) override { return os::spawn(request); }
  };
  static RealSpawner real;
  return real;
}

}  // namespace fray::os
