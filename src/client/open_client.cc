#include "client/open_client.h"

#include <utility>

#include <fmt/format.h>

#include "door/find_node.h"
#include "door/greeting.h"
#include "door/start_node.h"

namespace fray::client {

namespace {

Result<std::unique_ptr<Client>> join_node(const std::string& address, ClientOptions options) {
  FRAY_ASSIGN_OR_RETURN(door::FoundNode found, door::find_node(address, door::Others::kLeave));
  FRAY_ASSIGN_OR_RETURN(options.control, door::connect_to_node(found.socket, options.hello));
  auto client = Client::connect(std::move(options));
  if (!client.is_ok()) return door::explain_silence(found.socket, client.status());
  return client;
}

}  // namespace

Result<std::unique_ptr<Client>> open_client(const NodeChoice& node, ClientOptions options) {
  if (!options.hello.deadline) options.hello.deadline = Clock::now() + door::kHelloPatience;
  if (node.address) return join_node(*node.address, std::move(options));
  FRAY_ASSIGN_OR_RETURN(door::EmbeddedNode started, door::start_embedded_node(node.program, node.options_json));
  options.control = std::move(started.socket);
  auto client = Client::connect(std::move(options));
  // One that could say why has said so on its socket.
  if (client.is_ok() || started.exit_code == 0 || client.status().code() != StatusCode::kUnavailable) return client;
  return Status(StatusCode::kUnavailable, fmt::format("the node could not start: exit code {}", started.exit_code));
}

}  // namespace fray::client
