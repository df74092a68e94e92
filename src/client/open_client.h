// open_client(): a driver's connection to a node that runs, or to one of its own.
//
//   FRAY_ASSIGN_OR_RETURN(auto opening, ClientOpening::begin(node, options));   // the node starts meanwhile
//   FRAY_ASSIGN_OR_RETURN(auto client, opening.finish());
//
// Threading:  any thread; finish() blocks until the node has answered.
// Ownership:  the caller owns the client. A node of its own ends with its last client, or with an opening that nobody
//             finishes.
// Failure:    as door::find_node(), door::start_embedded_node() and Client::connect().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/client.h"
#include "door/start_node.h"

namespace fray::client {

struct NodeChoice {
  std::optional<std::string> address;  // as door::find_node() takes it; nullopt: a node of its own
  std::string program;                 // `fray`; starts a node of its own
  std::string options_json;            // of a node of its own
  os::Fd socket;                       // of a node of its own that the caller has started; `program` is not used then
};

class ClientOpening {
 public:
  static Result<ClientOpening> begin(NodeChoice node, ClientOptions options);
  // To be called once.
  Result<std::unique_ptr<Client>> finish();

 private:
  ClientOpening(std::unique_ptr<Client> client, std::string socket, door::NodeStarter starter)
      : client_(std::move(client)), socket_(std::move(socket)), starter_(std::move(starter)) {}

  std::unique_ptr<Client> client_;
  std::string socket_;  // of a node that was there
  door::NodeStarter starter_;
};

// Both steps at once.
Result<std::unique_ptr<Client>> open_client(NodeChoice node, ClientOptions options);

}  // namespace fray::client
