// fray: the command line, and the node itself (`fray node`, started by clients). Its commands are in the files
// *_command.cc.
//
// Threading:  one thread; a node starts more.
// Ownership:  main() owns the parser; each command owns the variables into which its options are read.
// Failure:    the exit codes of cli/exit_codes.h. What standard error does not take is lost.
#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

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
  // Each program waits for its node to start. To declare the options of all other commands too would take a millisecond.
  const bool is_node = argc > 1 && std::string_view(argv[1]) == "node";
  for (const cli::Command* each : cli::Command::all()) {
    if (is_node && std::string_view(each->name()) != "node") continue;
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
  log_line("{}", app.help());
  return fray::kExitUsage;
}

// A standard descriptor that is closed would be the number of the next socket or file, into which output would go.
void occupy_standard_descriptors() {
  for (int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR);
  }
}

// The exit code of a command that has ended with `code`, as in python/fray/_command_end.py: its output may be lost only
// now, and a reader that has closed the pipe needs no message.
int flushed(int code) {
  if (std::fflush(stdout) == 0) return std::ferror(stdout) == 0 ? code : kExitDisk;  // JobOutput has told it
  if (errno == EPIPE) return kExitFailed;
  log_line("fray: its output cannot be written: {}\n", std::strerror(errno));
  return kExitDisk;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGCHLD, SIG_DFL);  // where the parent ignored it, children could not be waited for
  occupy_standard_descriptors();
  try {
    return flushed(run(argc, argv));
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return flushed(fray::kExitDisk);
    fray::log_line("fray: {}\n", error.what());
    return fray::kExitFailed;
  }
}
