// `fray version`: prints the release of this program.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/exit_codes.h"

namespace fray::cli {

namespace {

Command::Run add_version(CLI::App&) {
  return [] {
    fmt::print("{}\n", FRAY_VERSION);
    return kExitOk;
  };
}

const Command kVersion("version", "This program's release", add_version);

}  // namespace

}  // namespace fray::cli
