#include "cli/status_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/amount_text.h"
#include "cli/amount_text.h"

namespace fray::cli {

namespace {

using nlohmann::json;

std::string amounts_text(const json& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts.items()) {
    if (!text.empty()) text += ", ";
    text += name + " " + amount_text(name, amount.get<double>());
  }
  return text.empty() ? "nothing" : text;
}

std::string resources_text(const json& resources) {
  std::string text;
  const json free = resources.value("free", json::object());
  const json total = resources.value("total", json::object());
  for (const auto& [name, amount] : total.items()) {
    text += fmt::format("  {}  {} of {} free\n", name, amount_text(name, free.value(name, 0.0)),
                        amount_text(name, amount.get<double>()));
  }
  return text;
}

std::string worker_text(const json& worker) {
  std::string line = fmt::format("  pid {:<8} {:<9}", worker.value("pid", 0), worker.value("state", ""));
  if (std::string task = worker.value("task", ""); !task.empty()) {
    line += fmt::format(" {}  {}", task, seconds_text(worker.value("running_seconds", 0.0)));
  }
  if (auto resources = worker.find("resources"); resources != worker.end()) line += "  " + amounts_text(*resources);
  if (auto stopped = worker.find("stopped_seconds"); stopped != worker.end()) {
    line += "  (for " + seconds_text(stopped->get<double>()) + " or longer)";
  }
  return line + "\n";
}

std::string waiting_text(const json& entry) {
  const int priority = entry.value("priority", 0);
  return fmt::format("  {} x {}  (depth {}, {}client {}): {}\n", entry.value("count", 0),
                     amounts_text(entry.value("resources", json::object())), entry.value("depth", 0),
                     priority != 0 ? fmt::format("priority {}, ", priority) : "", entry.value("client", 0),
                     entry.value("reason", ""));
}

std::string actor_text(const json& actor) {
  std::string line =
      fmt::format("  pid {:<8} {:<9} {}", actor.value("pid", 0), actor.value("state", ""), actor.value("class", ""));
  if (std::string name = actor.value("name", ""); !name.empty()) {
    line += fmt::format(" \"{}\"", name);
    if (std::string space = actor.value("namespace", "default"); space != "default") line += " in " + space;
  }
  if (actor.value("detached", false)) line += "  detached";
  if (int restarts = actor.value("restarts", 0); restarts > 0) line += fmt::format("  restarts {}", restarts);
  if (std::string reason = actor.value("reason", ""); !reason.empty()) line += ": " + reason;
  return line + "\n";
}

std::string job_text(const json& job) {
  std::string line =
      fmt::format("  pid {:<8} {:<9} {}", job.value("pid", 0), job.value("phase", ""), job.value("id", ""));
  if (std::string reason = job.value("reason", ""); !reason.empty()) line += ": " + reason;
  return line + "\n";
}

// The problem with writing the records of jobs down, if there is one.
std::string records_text(const json& records) {
  std::string text;
  if (std::string trouble = records.value("trouble", ""); !trouble.empty()) {
    text += fmt::format("\nno jobs are taken: {}\n", trouble);
  }
  if (std::string rebuilt = records.value("rebuilt", ""); !rebuilt.empty()) {
    text += fmt::format("\nthe records of jobs were damaged: {}\n", rebuilt);
  }
  return text;
}

template <typename ToText>
std::string section(const std::string& title, const json& rows, ToText to_text) {
  std::string text = fmt::format("\n{}: {}\n", title, rows.empty() ? "none" : std::to_string(rows.size()));
  for (const json& row : rows) text += to_text(row);
  return text;
}

}  // namespace

std::string status_text(const json& report) {
  const json node = report.value("node", json::object());
  std::string text = fmt::format("node {} (pid {}), up {}\n", node.value("release", "?"), node.value("pid", 0),
                                 seconds_text(node.value("uptime_seconds", 0.0)));
  text += fmt::format("session {}\n\nresources:\n", node.value("session_folder", "?"));
  text += resources_text(report.value("resources", json::object()));
  const json store = report.value("store", json::object());
  const json objects = report.value("objects", json::object());
  text += fmt::format("  store  {} of {} used, {} spilled; {} objects\n", bytes_text(store.value("used_bytes", 0.0)),
                      bytes_text(store.value("limit_bytes", 0.0)), bytes_text(store.value("spilled_bytes", 0.0)),
                      objects.value("count", 0));
  text += section("clients", report.value("clients", json::array()),
                  [](const json& row) { return fmt::format("  pid {}\n", row.value("pid", 0)); });
  text += section("workers", report.value("workers", json::array()), worker_text);
  if (const json actors = report.value("actors", json::array()); !actors.empty()) {
    text += section("actors", actors, actor_text);
  }
  if (const json jobs = report.value("jobs", json::array()); !jobs.empty()) text += section("jobs", jobs, job_text);
  text += records_text(report.value("job_records", json::object()));
  text += section("waiting", report.value("waiting", json::array()), waiting_text);
  return text;
}

}  // namespace fray::cli
