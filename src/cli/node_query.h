// ask_status(): one question to a node, over its socket, as an observer.
//
// Threading:  one thread; blocks.
// Ownership:  the connection lives within the call.
// Failure:    kUnavailable when nobody answers there; kTimedOut when the node does not answer in time; kInvalidArgument
//             with the node's words when it refuses (another release).
#pragma once

#include <chrono>
#include <string>

#include "base/status.h"

namespace fray::cli {

// The node's status document.
Result<std::string> ask_status(const std::string& socket_path, std::chrono::milliseconds patience);

}  // namespace fray::cli
