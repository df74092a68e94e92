// `fray doctor`: checks this machine, and prints for each check a line with the finding and, if there is a problem, a
// remedy.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/doctor_text.h"
#include "cli/exit_codes.h"

namespace fray::cli {

namespace {

struct DoctorArguments {
  bool json = false;
  std::string colour = "auto";
};

int run_doctor(const DoctorArguments& arguments) {
  std::vector<Finding> findings = judge(read_machine_facts());
  if (arguments.json) {
    fmt::print("{}\n", doctor_json(findings));
  } else {
    fmt::print("{}", doctor_text(findings, os::choose_style(arguments.colour, os::surroundings_of(STDOUT_FILENO))));
  }
  const bool has_bad =
      std::any_of(findings.begin(), findings.end(), [](const Finding& each) { return each.verdict == Verdict::kBad; });
  return has_bad ? kExitFailed : kExitOk;
}

Command::Run add_doctor(CLI::App& command) {
  auto arguments = std::make_shared<DoctorArguments>();
  command.add_flag("--json", arguments->json, "One JSON document");
  command.add_option("--color", arguments->colour, "always, never or auto")
      ->check(CLI::IsMember({"always", "never", "auto"}));
  command.footer("Exit codes: 0 nothing failed, 1 something did, 2 wrong usage");
  return [arguments] { return run_doctor(*arguments); };
}

const Command kDoctor("doctor", "Whether this machine is fit for Fray, and what to do if not", add_doctor);

}  // namespace

}  // namespace fray::cli
