// with_http(): a function that gives a node in this process its HTTP server.
//
// Threading:  the node's loop calls the function that is returned.
// Ownership:  none.
// Failure:    that of http::attach().
#pragma once

#include <cstdint>

#include "node/run_node.h"

namespace fray::cli {

// With `port` 0 the server takes any port that is free.
decltype(node::NodeArguments::attach) with_http(std::uint16_t port);

}  // namespace fray::cli
