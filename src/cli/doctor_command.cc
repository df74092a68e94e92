#include "cli/doctor_command.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

std::string mark(Verdict verdict, const os::TerminalStyle& style) {
  switch (verdict) {
    case Verdict::kGood:
      return style.green(style.unicode ? "✓" : "+");
    case Verdict::kNotice:
      return style.yellow("!");
    case Verdict::kBad:
      return style.red(style.unicode ? "✗" : "x");
  }
  return "?";
}

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "ok";
    case Verdict::kNotice:
      return "notice";
    case Verdict::kBad:
      return "failed";
  }
  return "?";
}

long count(const std::vector<Finding>& findings, Verdict verdict) {
  return std::count_if(findings.begin(), findings.end(), [=](const Finding& one) { return one.verdict == verdict; });
}

}  // namespace

std::string doctor_text(const std::vector<Finding>& findings, const os::TerminalStyle& style) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{} {:<15} {}\n", mark(finding.verdict, style), finding.check, finding.found);
    if (!finding.remedy.empty()) text += fmt::format("  {:<15} hint: {}\n", "", finding.remedy);
  }
  text += fmt::format("\n{} checks: {} ok, {} to know, {} failed\n", findings.size(), count(findings, Verdict::kGood),
                      count(findings, Verdict::kNotice), count(findings, Verdict::kBad));
  return text;
}

std::string doctor_json(const std::vector<Finding>& findings) {
  nlohmann::json checks = nlohmann::json::array();
  for (const Finding& finding : findings) {
    checks.push_back({{"check", finding.check},
                      {"verdict", name(finding.verdict)},
                      {"found", finding.found},
                      {"remedy", finding.remedy}});
  }
  nlohmann::json report = {{"schema", "fray/v1"}, {"release", FRAY_VERSION}, {"checks", std::move(checks)}};
  return json_text(report, 2);
}

void add_doctor(CLI::App& app, DoctorArguments& arguments) {
  CLI::App* command = app.add_subcommand("doctor", "Whether this machine is fit for Fray, and what to do if not");
  command->add_flag("--json", arguments.json, "One JSON document");
  command->add_option("--color", arguments.colour, "always, never or auto")
      ->check(CLI::IsMember({"always", "never", "auto"}));
  command->footer("Exit codes: 0 nothing failed, 1 something did, 2 wrong usage");
}

int run_doctor(const DoctorArguments& arguments) {
  std::vector<Finding> findings = judge(read_machine_facts());
  if (arguments.json) {
    fmt::print("{}\n", doctor_json(findings));
  } else {
    fmt::print("{}", doctor_text(findings, os::choose_style(arguments.colour, os::surroundings_of(STDOUT_FILENO))));
  }
  return count(findings, Verdict::kBad) > 0 ? kExitFailed : kExitOk;
}

}  // namespace fray::cli
