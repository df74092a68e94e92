// fray: the command line, and the node itself (`fray node`, started by clients). Its commands are in the files
// *_command.cc.
//
// Threading:  one thread; a node starts more.
// Ownership:  main() owns the parser; each command owns the variables into which its options are read.
// Failure:    the exit codes of cli/exit_codes.h.
#include <csignal>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/log_line.h"
#include "cli/command.h"
#include "cli/exit_codes.h"

namespace {

using namespace fray;

int run(int argc, char** argv) {
  CLI::App app("Fray runs functions, actors and jobs on this machine's cores.", "fray");
  app.footer(cli::kExitCodesText);
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", FRAY_VERSION, "This program's release");
  std::vector<std::pair<const CLI::App*, cli::Command::Run>> commands;
  for (const cli::Command* each : cli::Command::all()) {
    CLI::App* command = app.add_subcommand(each->name(), each->description());
    commands.emplace_back(command, each->add_to(*command));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? fray::kExitOk : fray::kExitUsage;
  }
  for (const auto& [command, run_command] : commands) {
    if (command->parsed()) return run_command();
  }
  fmt::print(stderr, "{}", app.help());
  return fray::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGCHLD, SIG_DFL);  // where the parent ignored it, children could not be waited for
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fray::log_line("fray: {}\n", error.what());
    return fray::kExitFailed;
  }
}
