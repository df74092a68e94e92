// open_client(): a driver's connection to a node that runs, or to one of its own.
//
// Threading:  any thread; blocks until the node has answered.
// Ownership:  the caller owns the client. A node of its own ends with its last client.
// Failure:    as door::find_node(), door::start_embedded_node() and Client::connect().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/client.h"

namespace fray::client {

struct NodeChoice {
  std::optional<std::string> address;  // as door::find_node() takes it; nullopt: a node of its own
  std::string program;                 // `fray`; starts a node of its own
  std::string options_json;            // of a node of its own
};

Result<std::unique_ptr<Client>> open_client(const NodeChoice& node, ClientOptions options);

}  // namespace fray::client
