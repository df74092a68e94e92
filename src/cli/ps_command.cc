// `fray ps`: prints the processes of a node, one per line: its jobs, actors and workers, and what each of them does.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/node_session.h"
#include "cli/options.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

struct PsArguments {
  NodeOption socket;
  bool json = false;
};

using nlohmann::json;

json row(const char* kind, const json& pid, const std::string& state, const std::string& what) {
  return {{"kind", kind}, {"pid", pid}, {"state", state}, {"what", what}};
}

json rows_of(const json& report, const std::vector<JobInfo>& jobs) {
  json rows = json::array();
  const json node = report.value("node", json::object());
  rows.push_back(row("node", node.value("pid", json()), "running", node.value("session_folder", "")));
  for (const json& client : report.value("clients", json::array())) {
    rows.push_back(row("driver", client.value("pid", json()), "connected", ""));
  }
  for (const JobInfo& job : jobs) {
    if (job.has_ended()) continue;
    const json pid = job.supervisor_pid == 0 ? json(nullptr) : json(job.supervisor_pid);
    rows.push_back(row("job", pid, std::string(to_string(job.phase)), job.id()));
  }
  for (const json& actor : report.value("actors", json::array())) {
    rows.push_back(row("actor", actor.value("pid", json()), actor.value("state", ""), actor.value("class", "")));
  }
  for (const json& worker : report.value("workers", json::array())) {
    rows.push_back(row("worker", worker.value("pid", json()), worker.value("state", ""), worker.value("task", "")));
  }
  return rows;
}

int run_ps(const PsArguments& arguments) {
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("ps", session.status());
  auto report = (*session)->status();
  if (!report.is_ok()) return report_failure("ps", report.status());
  auto jobs = (*session)->jobs().list({});
  if (!jobs.is_ok()) return report_failure("ps", jobs.status());
  const json rows = rows_of(parse_json(*report), *jobs);
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

Command::Run add_ps(CLI::App& command) {
  auto arguments = std::make_shared<PsArguments>();
  add_node_option(command, arguments->socket, true);
  command.add_flag("--json", arguments->json, "One JSON document");
  return [arguments] { return run_ps(*arguments); };
}

const Command kPs("ps", "The processes of a node: jobs, actors, workers", add_ps);

}  // namespace

}  // namespace fray::cli
