// `fray run`: runs, in place of this process, the Python module that calls a function on the engine.
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/log_line.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/python_program.h"

namespace fray::cli {

namespace {

struct RunArguments {
  std::string python;
  bool json = false;
  bool debug = false;
  std::string target;
  std::vector<std::string> words;  // the arguments of the function
};

int run_run(const RunArguments& arguments) {
  auto python = find_python(arguments.python);
  if (!python.is_ok()) {
    log_line("fray run: {}\n", python.status().message());
    return kExitNotFound;
  }
  std::vector<std::string> words = {*python, "-P", "-m", "fray._run"};
  if (arguments.json) words.push_back("--json");
  if (arguments.debug) words.push_back("--debug");
  words.push_back(arguments.target);
  words.insert(words.end(), arguments.words.begin(), arguments.words.end());
  return become_program("fray run", std::move(words));
}

Command::Run add_run(CLI::App& command) {
  auto arguments = std::make_shared<RunArguments>();
  command.footer(
      "fray run [OPTIONS] TARGET [ARGUMENTS OF THE FUNCTION]\n"
      "TARGET is file.py::function or module:function. `fray run TARGET --help` says which arguments it takes.\n"
      "Exit codes: as those of fray; 130 after Ctrl-C; any other is what the function gave to sys.exit");
  command.add_flag("--json", arguments->json, "Print the result as JSON");
  command.add_flag("--debug", arguments->debug, "Tasks may stop at breakpoint()");
  command.add_option("--python", arguments->python, "The interpreter; else that of this program's environment");
  // Options after the name of the function belong to the function.
  command.prefix_command();
  command.callback([&command, arguments] {
    std::vector<std::string> rest = command.remaining();
    if (rest.empty()) throw CLI::RequiredError("TARGET");
    arguments->target = rest.front();
    if (arguments->target.starts_with("-")) throw CLI::ExtrasError({arguments->target});
    arguments->words.assign(rest.begin() + 1, rest.end());
  });
  return [arguments] { return run_run(*arguments); };
}

const Command kRun("run", "Run a function of a file or module, with arguments of its own", add_run);

}  // namespace

}  // namespace fray::cli
