// `fray status`: what runs on a node, what waits and why.
//
// Threading:  one thread; blocks until the node has answered, kStatusPatience at most.
// Ownership:  none.
// Failure:    returns an exit code of cli/exit_codes.h and says on standard error what failed.
#pragma once

#include <string>

namespace fray::cli {

struct StatusArguments {
  std::string socket;  // empty: the started node of this home, else the newest of this user
  bool json = false;
};

int run_status(const StatusArguments& arguments);

}  // namespace fray::cli
