// `fray ray`: runs, in place of this process, a Python program that was written for Ray; `import ray` gives fray.ray
// there.
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/log_line.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/python_program.h"

namespace fray::cli {

namespace {

struct RayArguments {
  std::string python;
  std::vector<std::string> words;  // the program and its arguments
};

int run_ray(const RayArguments& arguments) {
  auto python = find_python(arguments.python);
  if (!python.is_ok()) {
    log_line("fray ray: {}\n", python.status().message());
    return kExitNotFound;
  }
  std::vector<std::string> words = {*python, "-P", "-m", "fray.ray"};
  words.insert(words.end(), arguments.words.begin(), arguments.words.end());
  return become_program("fray ray", std::move(words));
}

Command::Run add_ray(CLI::App& command) {
  auto arguments = std::make_shared<RayArguments>();
  command.footer(
      "fray ray [OPTIONS] PROGRAM [ARGUMENTS OF THE PROGRAM]\n"
      "PROGRAM is a file, a folder or archive with a __main__.py, or: -m MODULE, -c TEXT.\n"
      "Exit codes: those of the program; 2 and 3 also where there is no such program");
  command.add_option("--python", arguments->python, "The interpreter; else that of this program's environment");
  // Options after the name of the program belong to the program.
  command.prefix_command();
  command.callback([&command, arguments] {
    arguments->words = command.remaining();
    if (arguments->words.empty()) throw CLI::RequiredError("PROGRAM");
  });
  return [arguments] { return run_ray(*arguments); };
}

const Command kRay("ray", "Run a Python program that was written for Ray, unchanged", add_ray);

}  // namespace

}  // namespace fray::cli
