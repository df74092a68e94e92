#include "cli/doctor_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

}  // namespace fray::cli
