// fray: the command line, and the node itself (`fray node`, started by clients).
//
// Threading:  one thread; a node starts more.
// Ownership:  main() builds the commands and owns what they parse into.
// Failure:    exit codes as in cli/exit_codes.h.
#include <exception>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/exit_codes.h"
#include "cli/status_command.h"
#include "node/run_node.h"

namespace {

using namespace fray;

void add_node(CLI::App& app, node::NodeArguments& arguments) {
  CLI::App* command = app.add_subcommand("node", "Run a node (started by clients)");
  command->group("");  // internal
  command->add_flag("--embedded", arguments.embedded, "End with the last client");
  command->add_option("--client-fd", arguments.client_fd, "The first client's socket");
  command->add_option("--log-fd", arguments.log_fd, "Where messages go");
  command->add_option("--options-json", arguments.options_json, "Session options");
}

void add_status(CLI::App& app, cli::StatusArguments& arguments) {
  CLI::App* command = app.add_subcommand("status", "What runs on a node, what waits, and why");
  command->add_option("SOCKET", arguments.socket, "The node's socket; the newest node of this user if it is not given");
  command->add_flag("--json", arguments.json, "One JSON document");
}

int run(int argc, char** argv) {
  CLI::App app("Fray runs functions, actors and jobs on this machine's cores.", "fray");
  app.footer(cli::kExitCodesText);
  app.require_subcommand(0, 1);
  node::NodeArguments node_arguments;
  node_arguments.release = FRAY_VERSION;
  cli::StatusArguments status_arguments;
  add_node(app, node_arguments);
  add_status(app, status_arguments);
  app.add_subcommand("version", "This program's release");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cli::kExitOk : cli::kExitUsage;
  }
  if (app.get_subcommands().empty()) {
    fmt::print(stderr, "{}", app.help());
    return cli::kExitUsage;
  }
  if (app.got_subcommand("node")) return node::run_node(node_arguments);
  if (app.got_subcommand("status")) return cli::run_status(status_arguments);
  fmt::print("{}\n", FRAY_VERSION);
  return cli::kExitOk;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fray: {}\n", error.what());
    return fray::cli::kExitFailed;
  }
}
