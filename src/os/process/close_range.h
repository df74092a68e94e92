// close_from: closes every descriptor from a number on.
//
// Threading:  the process must not open descriptors on other threads meanwhile.
// Ownership:  closes descriptors of other owners, so it is only for a process at its start.
// Failure:    none; kernels without close_range (before 5.9) are served through /proc/self/fd.
#pragma once

namespace fray::os {

void close_from(int first);

}  // namespace fray::os
