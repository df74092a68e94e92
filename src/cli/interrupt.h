// Lets a command notice Ctrl-C instead of being ended by it. It is meant for commands that watch a job, which goes on
// without them.
//
// Threading:  was_interrupted() may be called on any thread; the signal handler may run on any.
// Ownership:  there is one handler in a process, which the first call of watch_for_interrupts() installs.
// Failure:    none. A second Ctrl-C ends the process as usual.
#pragma once

namespace fray::cli {

void watch_for_interrupts();
bool was_interrupted();

}  // namespace fray::cli
