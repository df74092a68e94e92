#include "cli/job_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"

namespace fray::cli {

namespace {

using nlohmann::json;

constexpr std::size_t kWidestReason = 80;

std::string text_of(const json& job, const char* key) {
  auto found = job.find(key);
  if (found == job.end() || found->is_null()) return "-";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// Seconds since 1970 of an RFC 3339 time in UTC; below 0 when there is none.
double seconds_of(const json& job, const char* key) {
  const std::string text = text_of(job, key);
  std::tm parts{};
  double seconds = 0;
  if (std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%lfZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday, &parts.tm_hour,
                  &parts.tm_min, &seconds) != 6) {
    return -1;
  }
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(::timegm(&parts)) + seconds;
}

std::string span_text(double seconds) {
  if (seconds < 0) return "-";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} h", seconds / 3600);
}

double now_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::string run_time(const json& job) {
  const double started = seconds_of(job, "started_at");
  if (started < 0) return "-";
  const double ended = seconds_of(job, "ended_at");
  return span_text(std::max(0.0, (ended < 0 ? now_seconds() : ended) - started));
}

std::string age(const json& job) {
  const double submitted = seconds_of(job, "submitted_at");
  return submitted < 0 ? "-" : span_text(std::max(0.0, now_seconds() - submitted));
}

std::string state_of(const json& job) {
  const std::string status = text_of(job, "status");
  return text_of(job, "phase") == "stopping" ? "stopping" : status;
}

std::string reason(const json& job) {
  for (const char* key : {"pending_reason", "message"}) {
    if (const std::string text = text_of(job, key); text != "-") return text;
  }
  return "";
}

std::string cut(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.size() <= kWidestReason ? text : text.substr(0, kWidestReason) + "…";
}

std::string command_text(const json& job) {
  std::string text;
  for (const json& word : job.value("command", json::array())) {
    if (!text.empty()) text += ' ';
    text += word.get<std::string>();
  }
  return text;
}

}  // namespace

std::string job_table(const json& jobs) {
  using Row = std::array<std::string, 6>;
  std::vector<Row> rows = {{"ID", "STATUS", "EXIT", "AGE", "RAN", "WHY"}};
  for (const json& job : jobs) {
    rows.push_back(
        {text_of(job, "id"), state_of(job), text_of(job, "exit_code"), age(job), run_time(job), cut(reason(job))});
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

std::string job_page(const json& job) {
  std::string text = fmt::format("job {}: {}\n", text_of(job, "id"), state_of(job));
  auto line = [&text](const char* name, const std::string& value) {
    if (value != "-" && !value.empty()) text += fmt::format("  {:<11} {}\n", name, value);
  };
  line("why", reason(job));
  line("name", text_of(job, "name"));
  line("command", command_text(job));
  line("folder", text_of(job, "folder"));
  line("attempt", text_of(job, "attempt"));
  line("failures", fmt::format("{} of {} that it may have", text_of(job, "failures"), text_of(job, "max_failures")));
  line("exit code", text_of(job, "exit_code"));
  line("parent", text_of(job, "parent"));
  line("submitted", text_of(job, "submitted_at"));
  line("started", text_of(job, "started_at"));
  line("ended", text_of(job, "ended_at"));
  line("ran", run_time(job));
  const json replicas = job.value("replicas", json::array());
  for (std::size_t number = 0; replicas.size() > 1 && number < replicas.size(); ++number) {
    const std::string error = text_of(replicas[number], "error");
    line(fmt::format("replica {}", number).c_str(),
         text_of(replicas[number], "status") + (error == "-" ? "" : ": " + error));
  }
  return text;
}

std::string job_end_line(const json& job) {
  const std::string why = text_of(job, "status") == "succeeded" ? "" : reason(job);
  return fmt::format("job {} {} after {}{}", text_of(job, "id"), text_of(job, "status"), run_time(job),
                     why.empty() ? "" : ": " + cut(why));
}

bool has_ended(const json& job) {
  const std::string status = text_of(job, "status");
  return status == "succeeded" || status == "failed" || status == "stopped";
}

int exit_code_of_job(const json& job) {
  if (text_of(job, "status") == "succeeded") return kExitOk;
  const json code = job.value("exit_code", json(nullptr));
  if (!code.is_number_integer()) return kExitFailed;
  const int number = code.get<int>();
  return number > 0 && number < 256 ? number : kExitFailed;
}

}  // namespace fray::cli
