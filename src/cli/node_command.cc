// `fray node`: runs a node in this process. Clients start it; people use `fray start`.
#include <cstdint>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/node_http.h"
#include "node/run_node.h"

namespace fray::cli {

namespace {

struct NodeCommandArguments {
  node::NodeArguments node;
  std::optional<std::uint16_t> http_port;
};

int run_node_command(NodeCommandArguments& arguments) {
  arguments.node.release = FRAY_VERSION;
  arguments.node.attach = with_http(arguments.http_port.value_or(0));
  arguments.node.attaches_always = arguments.http_port.has_value();
  return node::run_node(arguments.node);
}

Command::Run add_node(CLI::App& command) {
  auto arguments = std::make_shared<NodeCommandArguments>();
  node::NodeArguments& node = arguments->node;
  command.group("");  // internal
  command.add_flag("--embedded", node.embedded, "End with the last client");
  command.add_option("--client-fd", node.client_fd, "The first client's socket");
  command.add_option("--fork-server", node.fork_server_pid, "The process that forks the first client's workers");
  command.add_option("--ready-fd", node.ready_fd, "Where to say that clients are accepted");
  command.add_option("--log-fd", node.log_fd, "Where messages go");
  command.add_option("--options-json", node.options_json, "Session options");
  command.add_option("--http-port", arguments->http_port, "Port of the HTTP API, 0 for any; none without it");
  return [arguments] { return run_node_command(*arguments); };
}

const Command kNodeCommand("node", "Run a node (started by clients)", add_node);

}  // namespace

}  // namespace fray::cli
