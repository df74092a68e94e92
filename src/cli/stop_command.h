// `fray stop`: ends the started node of this home and everything below it.
//
// Works with a node of any release: it asks the kernel who listens at the socket, and ends that process with a signal.
//
// Threading:  one thread; blocks until nothing is left, kStopPatience at most.
// Ownership:  none.
// Failure:    returns an exit code of cli/exit_codes.h and says on standard error what failed: kExitUnreachable when no
//             node of this home runs, kExitTimedOut when it does not end. A process is signalled only when it is the one
//             that holds the home's lock.
#pragma once

namespace fray::cli {

struct StopArguments {
  bool force = false;  // SIGKILL, all of them at once
};

int run_stop(const StopArguments& arguments);

}  // namespace fray::cli
