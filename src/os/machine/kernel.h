// The features that the kernel must have, checked once at the start of a node.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    kUnavailable with the version found and the version needed.
#pragma once

#include <string_view>

#include "base/status.h"

namespace fray::os {

// pidfds that can be polled (5.3), opened (5.3) and F_SEAL_FUTURE_WRITE (5.1): 5.4 is the oldest long-term kernel.
Status check_kernel();
// The rule behind it, for a release text such as "5.10.0-28-amd64".
Status check_kernel_release(std::string_view release);

}  // namespace fray::os
