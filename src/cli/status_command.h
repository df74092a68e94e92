// `fray status`: what runs on a node, what waits and why.
//
// Threading:  one thread; blocks until the node has answered, 5 s at most.
// Ownership:  none.
// Failure:    returns an exit code of cli/exit_codes.h and says on standard error what failed.
#pragma once

#include "cli/node_session.h"

namespace fray::cli {

struct StatusArguments {
  NodeOption socket;
  bool json = false;
};

int run_status(const StatusArguments& arguments);

}  // namespace fray::cli
