#include "client/open_client.h"

#include <utility>

#include <fmt/format.h>

#include "door/find_node.h"
#include "door/greeting.h"
#include "door/start_node.h"

namespace fray::client {

Result<ClientOpening> ClientOpening::begin(NodeChoice node, ClientOptions options) {
  if (!options.hello.deadline) options.hello.deadline = Clock::now() + door::kHelloPatience;
  if (node.address) {
    FRAY_ASSIGN_OR_RETURN(door::FoundNode found, door::find_node(*node.address, door::Others::kLeave));
    FRAY_ASSIGN_OR_RETURN(options.control, door::connect_to_node(found.socket, options.hello));
    return ClientOpening(Client::greet(std::move(options)), found.socket, {});
  }
  door::EmbeddedNode started;
  started.socket = std::move(node.socket);
  if (!started.socket.is_open()) {
    FRAY_ASSIGN_OR_RETURN(started, door::start_embedded_node(node.program, node.options_json));
  }
  options.control = std::move(started.socket);
  options.started_node = true;
  return ClientOpening(Client::greet(std::move(options)), "", std::move(started.starter));
}

Result<std::unique_ptr<Client>> ClientOpening::finish() {
  const int exit_code = starter_.exit_code();
  const Status joined = client_->join();
  if (joined.is_ok()) return std::move(client_);
  if (!socket_.empty()) return door::explain_silence(socket_, joined);
  // A node that failed with a message has sent it over the socket.
  if (exit_code == 0 || joined.code() != StatusCode::kUnavailable) return joined;
  return Status(StatusCode::kUnavailable, fmt::format("the node could not start: exit code {}", exit_code));
}

Result<std::unique_ptr<Client>> open_client(NodeChoice node, ClientOptions options) {
  FRAY_ASSIGN_OR_RETURN(ClientOpening opening, ClientOpening::begin(std::move(node), std::move(options)));
  return opening.finish();
}

}  // namespace fray::client
