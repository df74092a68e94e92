#include "cli/migrate_command.h"

#include <fmt/format.h>

#include "cli/exit_codes.h"
#include "cli/python_program.h"

namespace fray::cli {

void add_migrate(CLI::App& app, MigrateArguments& arguments) {
  CLI::App* command = app.add_subcommand("migrate", "Rewrite programs for Ray to Fray's own API, or back");
  command->footer(
      "What has no counterpart stays as it is, with a comment `# fray: ...`. Needs the extra fray[migrate].\n"
      "Exit codes: as those of fray; 1 too where a file was refused, or where --check found something to do");
  command->add_option("PATH", arguments.paths, "Programs, notebooks, or folders of them")->required();
  command->add_flag("--check", arguments.check, "Write nothing; exit code 1 where something would change");
  command->add_flag("--diff", arguments.diff, "Write nothing; show what would change");
  command->add_flag("--json", arguments.json, "Print the report as JSON");
  command->add_flag("--to-ray", arguments.to_ray, "The other way: from Fray's API to Ray's");
  command->add_flag("--sync-tests", arguments.sync_tests,
                    "Tests start a LocalJobContext, in their own process, and no engine");
  command->add_option("--python", arguments.python, "The interpreter; else that of this program's environment");
}

int run_migrate(const MigrateArguments& arguments) {
  auto python = find_python(arguments.python);
  if (!python.is_ok()) {
    fmt::print(stderr, "fray migrate: {}\n", python.status().message());
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

}  // namespace fray::cli
