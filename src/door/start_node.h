// Starts nodes: the program `fray node` in a process of its own, which is no child of its starter.
//
// Threading:  any thread; blocks until the node has left its starter, and start_lasting_node() until it accepts clients.
// Ownership:  the caller owns the socket. The node owns itself.
// Failure:    what os::spawn() says; kUnavailable when the node ends before it is ready. A node that cannot start says why:
//             on the socket, as a refusal; or with its own status. kResourceExhausted without a free descriptor.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "door/patience.h"
#include "os/fd.h"

namespace fray::door {

struct EmbeddedNode {
  os::Fd socket;      // of its first client
  int exit_code = 0;  // of the process that was to start it; another than 0 says that there is no node
};

// A node that lives as long as somebody uses it, with options as `fray node --options-json` takes them.
Result<EmbeddedNode> start_embedded_node(const std::string& program, const std::string& options_json);

// A node that lives until it is stopped. `arguments` follow `fray node`; what it writes goes to `log`. Returns what it says of
// itself once it accepts clients: `socket`, `pid`, and where its API answers.
Result<nlohmann::json> start_lasting_node(const std::string& program, const std::vector<std::string>& arguments,
                                          const os::Fd& log, const Patience& patience);

}  // namespace fray::door
