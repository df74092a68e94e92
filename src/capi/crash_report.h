// report_crashes(): has a worker that is about to die of a signal write to standard error which signal it is, where it
// happened and which task ran. The node keeps the last lines of that, and puts them into the errors of its tasks.
//
// Threading:  call it once, in the worker's main thread; the handler runs on whichever thread crashed, on a stack of its
//             own, so that an overflow of the main thread's stack is reported too.
// Ownership:  the alternative stack lives as long as the process.
// Failure:    none; where a sanitizer has its own handlers it installs nothing.
#pragma once

namespace fray::capi {

void report_crashes();

}  // namespace fray::capi
