#include "cli/python_program.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/log_line.h"
#include "cli/exit_codes.h"
#include "os/machine/installation.h"
#include "os/process/spawn.h"

namespace fray::cli {

namespace {
const os::Installation& own() {
  static const os::Installation installation = os::Installation::of(os::own_program());
  return installation;
}
}  // namespace

std::string find_program(const std::string& name) { return os::find_program(name, own()); }

Result<std::string> find_python(const std::string& asked) {
  if (asked.empty()) {
    if (std::string found = os::find_python(own()); !found.empty()) return found;
    return Status(
        StatusCode::kNotFound,
        "no Python was found beside this program, in $VIRTUAL_ENV or on the PATH; name one with --python PATH");
  }
  std::error_code ignored;
  const bool is_path = asked.find('/') != std::string::npos;
  if (is_path && std::filesystem::is_regular_file(asked, ignored) && ::access(asked.c_str(), X_OK) == 0) return asked;
  if (std::string found = is_path ? "" : find_program(asked); !found.empty()) return found;
  return Status(StatusCode::kNotFound, fmt::format("--python {} is no program", asked));
}

int become_program(const char* command, std::vector<std::string> words) {
  ::execv(words.front().c_str(), os::exec_pointers(words).data());
  log_line("{}: {} cannot be started: {}\n", command, words.front(), std::strerror(errno));
  return kExitFailed;
}

}  // namespace fray::cli
