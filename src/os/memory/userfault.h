// open_userfault: a descriptor of userfaultfd(2), by which a process looks after the page faults of its own memory.
//
// Threading:  any thread.
// Ownership:  the descriptor is the caller's.
// Failure:    it is not open where the kernel, or the rules of a container, do not allow it or have not all the features.
#pragma once

#include <cstdint>

#include "os/fd.h"

namespace fray::os {

// `features`: UFFD_FEATURE_*. For faults in user mode, which takes no privilege.
Fd open_userfault(std::uint64_t features = 0);

}  // namespace fray::os
