// report_crashes(): a worker that is about to die of a signal says which, where, and what it was doing, on standard
// error. The node keeps the last lines of that and tells them to whoever waits.
//
// Threading:  call it once, in the worker's main thread; the handler runs on whichever thread crashed, on a stack of its
//             own, so that an overflow of the main thread's stack is told too.
// Ownership:  the alternative stack lives as long as the process.
// Failure:    none; where a sanitizer has its own handlers it installs nothing.
#pragma once

namespace fray::capi {

void report_crashes();

}  // namespace fray::capi
