// `fray migrate`: runs, in place of this process, the Python module that rewrites programs from Ray's API to Fray's,
// and back.
#include <memory>

#include <CLI/CLI.hpp>

#include "base/log_line.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/python_program.h"

namespace fray::cli {

namespace {

struct MigrateArguments {
  std::string python;
  std::vector<std::string> paths;
  bool check = false;
  bool diff = false;
  bool json = false;
  bool to_ray = false;
  bool sync_tests = false;
};

int run_migrate(const MigrateArguments& arguments) {
  auto python = find_python(arguments.python);
  if (!python.is_ok()) {
    log_line("fray migrate: {}\n", python.status().message());
    return kExitNotFound;
  }
  std::vector<std::string> words = {*python, "-P", "-m", "fray.migrate"};
  if (arguments.check) words.push_back("--check");
  if (arguments.diff) words.push_back("--diff");
  if (arguments.json) words.push_back("--json");
  if (arguments.to_ray) words.push_back("--to-ray");
  if (arguments.sync_tests) words.push_back("--sync-tests");
  words.push_back("--");
  words.insert(words.end(), arguments.paths.begin(), arguments.paths.end());
  return become_program("fray migrate", words);
}

Command::Run add_migrate(CLI::App& command) {
  auto arguments = std::make_shared<MigrateArguments>();
  command.footer(
      "What has no counterpart stays as it is, with a comment `# fray: ...`. Needs the extra fray[migrate].\n"
      "Exit codes: as those of fray; 1 too where a file was refused, or where --check found something to do");
  command.add_option("PATH", arguments->paths, "Programs, notebooks, or folders of them")->required();
  command.add_flag("--check", arguments->check, "Write nothing; exit code 1 where something would change");
  command.add_flag("--diff", arguments->diff, "Write nothing; show what would change");
  command.add_flag("--json", arguments->json, "Print the report as JSON");
  command.add_flag("--to-ray", arguments->to_ray, "The other way: from Fray's API to Ray's");
  command.add_flag("--sync-tests", arguments->sync_tests,
                   "Tests start a LocalJobContext, in their own process, and no engine");
  command.add_option("--python", arguments->python, "The interpreter; else that of this program's environment");
  return [arguments] { return run_migrate(*arguments); };
}

const Command kMigrate("migrate", "Rewrite programs for Ray to Fray's own API, or back", add_migrate);

}  // namespace

}  // namespace fray::cli
