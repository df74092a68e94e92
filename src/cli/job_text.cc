#include "cli/job_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "model/job_json.h"
#include "os/clock.h"

namespace fray::cli {

namespace {

constexpr std::size_t kWidestReason = 80;

std::string span_text(double seconds) {
  if (seconds < 0) return "-";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

double seconds_between(std::int64_t begin_unix_ns, std::int64_t end_unix_ns) {
  return std::max(0.0, static_cast<double>(end_unix_ns - begin_unix_ns) / 1e9);
}

std::string run_time(const JobInfo& job) {
  if (job.started_unix_ns == 0) return "-";
  return span_text(seconds_between(job.started_unix_ns, job.ended_unix_ns == 0 ? os::unix_ns() : job.ended_unix_ns));
}

std::string age(const JobInfo& job) {
  return job.submitted_unix_ns == 0 ? "-" : span_text(seconds_between(job.submitted_unix_ns, os::unix_ns()));
}

std::string_view state_of(const JobInfo& job) {
  return job.phase == JobPhase::kStopping ? to_string(job.phase) : to_string(job.state);
}

const std::string& reason(const JobInfo& job) { return job.pending_reason.empty() ? job.message : job.pending_reason; }

std::string exit_text(const JobInfo& job) { return job.exit_code < 0 ? "-" : std::to_string(job.exit_code); }

std::string when_text(std::int64_t unix_ns) {
  const nlohmann::json time = time_json(unix_ns);
  return time.is_null() ? "-" : time.get<std::string>();
}

std::string cut(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.size() <= kWidestReason ? text : text.substr(0, kWidestReason) + "…";
}

}  // namespace

std::string job_table(const std::vector<JobInfo>& jobs) {
  using Row = std::array<std::string, 6>;
  std::vector<Row> rows = {{"ID", "STATUS", "EXIT", "AGE", "RAN", "WHY"}};
  for (const JobInfo& job : jobs) {
    rows.push_back({job.id(), std::string(state_of(job)), exit_text(job), age(job), run_time(job), cut(reason(job))});
  }
  std::array<std::size_t, 6> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string job_page(const JobInfo& job) {
  std::string text = fmt::format("job {}: {}\n", job.id(), state_of(job));
  auto line = [&text](const std::string& name, const std::string& value) {
    if (value != "-" && !value.empty()) text += fmt::format("  {:<11} {}\n", name, value);
  };
  line("why", reason(job));
  line("name", job.spec.name);
  line("command", fmt::format("{}", fmt::join(job.spec.command, " ")));
  line("folder", job.spec.folder);
  for (const auto& [name, value] : job.spec.metadata) line("metadata", fmt::format("{}={}", name, value));
  line("attempt", std::to_string(job.attempt));
  line("failures", fmt::format("{} of {} that it may have", job.failures, job.spec.max_failures));
  line("exit code", exit_text(job));
  line("parent", job.parent);
  line("submitted", when_text(job.submitted_unix_ns));
  line("started", when_text(job.started_unix_ns));
  line("ended", when_text(job.ended_unix_ns));
  line("ran", run_time(job));
  if (job.spec.replicas == 1) return text;
  const nlohmann::json replicas = job_json(job)["replicas"];
  for (std::size_t number = 0; number < replicas.size(); ++number) {
    const nlohmann::json& error = replicas[number]["error"];
    line(fmt::format("replica {}", number),
         replicas[number]["status"].get<std::string>() + (error.is_null() ? "" : ": " + error.get<std::string>()));
  }
  return text;
}

std::string job_end_line(const JobInfo& job) {
  const std::string why = job.state == JobState::kSucceeded ? "" : reason(job);
  const std::string time = run_time(job);
  return fmt::format("job {} {}{}{}", job.id(), to_string(job.state), time == "-" ? "" : " after " + time,
                     why.empty() ? "" : ": " + cut(why));
}

int exit_code_of_job(const JobInfo& job) {
  if (job.state == JobState::kSucceeded) return kExitOk;
  return job.exit_code > 0 && job.exit_code < 256 ? job.exit_code : kExitFailed;
}

}  // namespace fray::cli
