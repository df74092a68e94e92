// Peer: the process at the other end of a Unix socket, as the kernel reports it.
//
// Threading:  any thread.
// Ownership:  Peer owns the pidfd.
// Failure:    kIoError when the kernel does not tell. A peer that has ended has no pidfd and `alive` is false; one in a
//             pid namespace that cannot be seen has pid 0, and only EOF tells of its end.
#pragma once

#include <sys/types.h>

#include "base/status.h"
#include "os/fd.h"

namespace fray::os {

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  bool alive = true;
  Fd pidfd;
};

Result<Peer> peer_of(int socket);

}  // namespace fray::os
