#include "os/memory/userfault.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

namespace fray::os {

Fd open_userfault(std::uint64_t features) {
  Fd descriptor(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY)));
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = features;
  if (descriptor.is_open() && ::ioctl(descriptor.get(), UFFDIO_API, &api) != 0) descriptor.reset();
  return descriptor;
}

}  // namespace fray::os
