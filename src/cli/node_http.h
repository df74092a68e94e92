// with_http(): what makes a node that this program runs answer HTTP.
//
// Threading:  the node's loop calls what is returned.
// Ownership:  none.
// Failure:    as http::attach().
#pragma once

#include <cstdint>

#include "node/run_node.h"

namespace fray::cli {

// `port` 0: any that is free.
decltype(node::NodeArguments::attach) with_http(std::uint16_t port);

}  // namespace fray::cli
