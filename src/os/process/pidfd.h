// Pidfd: watching and killing a process without fear that its number was given to another one.
//
// Threading:  any thread.
// Ownership:  the caller owns the returned descriptor. It is readable once the process has ended.
// Failure:    kNotFound when the process is gone already; kIoError otherwise.
#pragma once

#include <sys/types.h>

#include "base/status.h"
#include "os/fd.h"

namespace fray::os {

Result<Fd> open_pidfd(pid_t pid);
// Also works when the process has ended and nobody has waited for it yet.
Status send_signal(const Fd& pidfd, int signal);
// Whether the process behind `pidfd` has ended (it may still wait to be reaped).
bool has_ended(const Fd& pidfd);

}  // namespace fray::os
