// find_node(): finds the node that is meant, by one rule for every command and every language.
//
//   1. the address that was given: "auto" for the started node of this home, a socket, or the folder of a node or a home;
//   2. FRAY_NODE, which a node sets for the processes of its jobs;
//   3. the started node of this home;
//   4. for commands that only look: the newest of the other nodes of this user.
//
// Threading:  any thread; reads the environment and the run folder.
// Ownership:  values.
// Failure:    kInvalidArgument for an address that can be none, and for a FRAY_HOME that depends on the current folder;
//             kUnavailable when no node is found. A node that is found may still not answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "door/session_info.h"

namespace fray::door {

struct FoundNode {
  std::string socket;                // an absolute path
  std::vector<SessionInfo> several;  // by step 4 among these, the newest first; else empty
};

enum class Others { kTake, kLeave };  // step 4

Result<FoundNode> find_node(const std::optional<std::string>& address, Others others);

// The address in FRAY_NODE; nothing in a process that no node started.
std::optional<std::string> node_of_this_job();

}  // namespace fray::door
