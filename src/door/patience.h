// Waiting for a descriptor with a Patience.
//
// Threading:  any thread; `interrupted` is called on the thread that waits.
// Ownership:  none.
// Failure:    kTimedOut at the deadline, kCancelled when `interrupted` says so, kIoError when poll() fails.
#pragma once

#include "base/patience.h"
#include "base/status.h"

namespace fray::door {

using fray::Deadline;
using fray::Patience;

// Until one of `events`, or the end, has come.
Status wait_for(int descriptor, short events, const Patience& patience);
// Whether to go on.
Status check(const Patience& patience);

}  // namespace fray::door
