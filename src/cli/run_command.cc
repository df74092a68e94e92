#include "cli/run_command.h"

#include <utility>

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/python_program.h"

namespace fray::cli {

void add_run(CLI::App& app, RunArguments& arguments) {
  CLI::App* command = app.add_subcommand("run", "Run a function of a file or module, with arguments of its own");
  command->footer(
      "fray run [OPTIONS] TARGET [ARGUMENTS OF THE FUNCTION]\n"
      "TARGET is file.py::function or module:function. `fray run TARGET --help` says which arguments it takes.\n"
      "Exit codes: as those of fray; 130 after Ctrl-C; any other is what the function gave to sys.exit");
  command->add_flag("--json", arguments.json, "Print the result as JSON");
  command->add_flag("--debug", arguments.debug, "Tasks may stop at breakpoint()");
  command->add_option("--python", arguments.python, "The interpreter; else that of this program's environment");
  // Everything from the target on is the function's.
  command->prefix_command();
  command->callback([command, &arguments] {
    std::vector<std::string> rest = command->remaining();
    if (rest.empty()) throw CLI::RequiredError("TARGET");
    arguments.target = rest.front();
    if (arguments.target.starts_with("-")) throw CLI::ExtrasError({arguments.target});
    arguments.words.assign(rest.begin() + 1, rest.end());
  });
}

int run_run(const RunArguments& arguments) {
  auto python = find_python(arguments.python);
  if (!python.is_ok()) {
    fmt::print(stderr, "fray run: {}\n", python.status().message());
    return kExitNotFound;
  }
  std::vector<std::string> words = {*python, "-P", "-m", "fray._run"};
  if (arguments.json) words.push_back("--json");
  if (arguments.debug) words.push_back("--debug");
  words.push_back(arguments.target);
  words.insert(words.end(), arguments.words.begin(), arguments.words.end());
  return become_program("fray run", std::move(words));
}

void add_ray(CLI::App& app, RayArguments& arguments) {
  CLI::App* command = app.add_subcommand("ray", "Run a Python program that was written for Ray, unchanged");
  command->footer(
      "fray ray [OPTIONS] PROGRAM [ARGUMENTS OF THE PROGRAM]\n"
      "PROGRAM is a file, a folder or archive with a __main__.py, or: -m MODULE, -c TEXT.\n"
      "Exit codes: those of the program; 2 and 3 also where there is no such program");
  command->add_option("--python", arguments.python, "The interpreter; else that of this program's environment");
  // Everything from the program on is the program's.
  command->prefix_command();
  command->callback([command, &arguments] {
    arguments.words = command->remaining();
    if (arguments.words.empty()) throw CLI::RequiredError("PROGRAM");
  });
}

int run_ray(const RayArguments& arguments) {
  auto python = find_python(arguments.python);
  if (!python.is_ok()) {
    fmt::print(stderr, "fray ray: {}\n", python.status().message());
    return kExitNotFound;
  }
  std::vector<std::string> words = {*python, "-P", "-m", "fray.ray"};
  words.insert(words.end(), arguments.words.begin(), arguments.words.end());
  return become_program("fray ray", std::move(words));
}

}  // namespace fray::cli
