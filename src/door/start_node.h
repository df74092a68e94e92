// Starts nodes: the program `fray node` in a process of its own, which is no child of its starter.
//
// Threading:  any thread; start_lasting_node() blocks until the node accepts clients.
// Ownership:  the caller owns the socket, and the process that starts the node until it has ended. The node owns itself.
// Failure:    what os::spawn() says; kUnavailable when the node ends before it is ready. A node that cannot start says why:
//             on the socket, as a refusal; or with its own status. kResourceExhausted without a free descriptor.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"
#include "door/patience.h"
#include "os/fd.h"

namespace fray::door {

// The process that starts a node and leaves it behind.
class NodeStarter {
 public:
  NodeStarter() = default;
  explicit NodeStarter(pid_t pid) : pid_(pid) {}
  NodeStarter(NodeStarter&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  NodeStarter& operator=(NodeStarter&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~NodeStarter() { exit_code(); }

  // Waits for its end, once. Another than 0 says that there is no node. 0 where this program has the kernel reap its
  // children, or reaps them itself.
  int exit_code();

 private:
  pid_t pid_ = 0;
};

struct EmbeddedNode {
  os::Fd socket;  // of its first client, which may write to it at once
  NodeStarter starter;
};

// A node that lives as long as somebody uses it, with options as `fray node --options-json` takes them. Returns as soon as
// its program runs.
Result<EmbeddedNode> start_embedded_node(const std::string& program, const std::string& options_json);

// A node that lives until it is stopped. `arguments` follow `fray node`; what it writes goes to `log`. Returns what it says of
// itself once it accepts clients: `socket`, `pid`, and where its API answers.
Result<nlohmann::json> start_lasting_node(const std::string& program, const std::vector<std::string>& arguments,
                                          const os::Fd& log, const Patience& patience);

}  // namespace fray::door
