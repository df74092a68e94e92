#include "node/jobs/job_rules.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace fray::node {

namespace {

constexpr double kMostProcesses = 4'194'304;  // as many pids as Linux has
constexpr double kMostJobs = 1e9;
constexpr double kMostDays = 100'000;
constexpr double kNanosecondsOfDay = 86'400e9;

Status read_number(const char* name, const char* text, double most, bool whole, double* number) {
  if (text == nullptr || *text == '\0') return Status::ok();
  const char* end = text + std::strlen(text);
  auto [rest, error] = std::from_chars(text, end, *number);
  const bool good = error == std::errc() && rest == end && *number >= 0 && *number <= most &&
                    (!whole || *number == std::floor(*number));
  if (good) return Status::ok();
  return Status(StatusCode::kInvalidArgument, fmt::format("{} must be a {}number from 0 to {:.0f}, got '{}'", name,
                                                          whole ? "whole " : "", most, text));
}

}  // namespace

Result<JobRules> JobRules::read(const std::function<const char*(const char* name)>& variable) {
  JobRules rules;
  double processes = 0;
  auto jobs = static_cast<double>(rules.retention.jobs);
  double days = static_cast<double>(rules.retention.age.count()) / kNanosecondsOfDay;
  auto read = [&](const char* name, double most, bool whole, double* number) {
    return read_number(name, variable(name), most, whole, number);
  };
  FRAY_RETURN_IF_ERROR(read("FRAY_JOB_PROCESSES", kMostProcesses, true, &processes));
  FRAY_RETURN_IF_ERROR(read("FRAY_KEEP_JOBS", kMostJobs, true, &jobs));
  FRAY_RETURN_IF_ERROR(read("FRAY_KEEP_JOBS_DAYS", kMostDays, false, &days));
  rules.max_processes = static_cast<std::uint32_t>(processes);
  rules.retention.jobs = static_cast<std::size_t>(jobs);
  rules.retention.age = std::chrono::nanoseconds(static_cast<std::int64_t>(days * kNanosecondsOfDay));
  return rules;
}

Result<JobRules> JobRules::read() {
  return read([](const char* name) { return std::getenv(name); });
}

}  // namespace fray::node
