#include "cli/ps_command.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/node_session.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

using nlohmann::json;

json row(const char* kind, const json& pid, const std::string& state, const std::string& what) {
  return {{"kind", kind}, {"pid", pid}, {"state", state}, {"what", what}};
}

json rows_of(const json& report, const json& jobs) {
  json rows = json::array();
  const json node = report.value("node", json::object());
  rows.push_back(row("node", node.value("pid", json()), "running", node.value("session_folder", "")));
  for (const json& client : report.value("clients", json::array())) {
    rows.push_back(row("driver", client.value("pid", json()), "connected", ""));
  }
  for (const json& job : jobs) {
    const std::string status = job.value("status", "");
    if (status != "pending" && status != "running") continue;
    rows.push_back(row("job", job.value("supervisor_pid", json()), job.value("phase", ""), job.value("id", "")));
  }
  for (const json& actor : report.value("actors", json::array())) {
    rows.push_back(row("actor", actor.value("pid", json()), actor.value("state", ""), actor.value("class", "")));
  }
  for (const json& worker : report.value("workers", json::array())) {
    rows.push_back(row("worker", worker.value("pid", json()), worker.value("state", ""), worker.value("task", "")));
  }
  return rows;
}

}  // namespace

void add_ps(CLI::App& app, PsArguments& arguments) {
  CLI::App* command = app.add_subcommand("ps", "The processes of a node: jobs, actors, workers");
  add_node_option(*command, arguments.socket, true);
  command->add_flag("--json", arguments.json, "One JSON document");
}

int run_ps(const PsArguments& arguments) {
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("ps", session.status());
  auto report = (*session)->status();
  if (!report.is_ok()) return report_failure("ps", report.status());
  auto jobs = (*session)->jobs().get({});
  if (!jobs.is_ok()) return report_failure("ps", jobs.status());
  const json rows = rows_of(parse_json(*report), parse_json(*jobs));
  if (arguments.json) {
    fmt::print("{}\n", json_text(json{{"schema", "fray/v1"}, {"processes", rows}}, 2));
    return kExitOk;
  }
  fmt::print("{:<8} {:<8} {:<12} {}\n", "KIND", "PID", "STATE", "WHAT");
  for (const json& each : rows) {
    fmt::print("{:<8} {:<8} {:<12} {}\n", each.value("kind", ""), each["pid"].is_null() ? "-" : json_text(each["pid"]),
               each.value("state", ""), each.value("what", ""));
  }
  return kExitOk;
}

}  // namespace fray::cli
