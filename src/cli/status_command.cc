// `fray status`: prints what runs on a node, what waits, and why it waits.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/log_line.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "cli/node_session.h"
#include "cli/options.h"
#include "cli/status_text.h"
#include "model/json_text.h"

namespace fray::cli {

namespace {

struct StatusArguments {
  NodeOption socket;
  bool json = false;
};

int run_status(const StatusArguments& arguments) {
  auto session = NodeSession::open(arguments.socket);
  if (!session.is_ok()) return report_failure("status", session.status());
  auto reply = (*session)->status();
  if (!reply.is_ok()) return report_failure("status", reply.status());
  nlohmann::json report = parse_json(*reply);
  if (!report.is_object()) {
    log_line("fray status: the node at {} answered with something that is no JSON object\n", (*session)->socket());
    return kExitFailed;
  }
  fmt::print("{}\n", arguments.json ? json_text(report, 2) : status_text(report));
  return kExitOk;
}

Command::Run add_status(CLI::App& command) {
  auto arguments = std::make_shared<StatusArguments>();
  add_node_option(command, arguments->socket, true);
  command.add_flag("--json", arguments->json, "One JSON document");
  return [arguments] { return run_status(*arguments); };
}

const Command kStatus("status", "What runs on a node, what waits, and why", add_status);

}  // namespace

}  // namespace fray::cli
