// Ctrl-C as a question instead of an end, for commands that watch something that goes on without them.
//
// Threading:  the handler runs on any thread; was_interrupted() on any.
// Ownership:  a process has one; the first watch_for_interrupts() sets it up.
// Failure:    none. A second Ctrl-C ends the process as usual.
#pragma once

namespace fray::cli {

void watch_for_interrupts();
bool was_interrupted();

}  // namespace fray::cli
