#include "os/process/close_range.h"

#include <cstdlib>
#include <vector>

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fray::os {

void close_from(int first) {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0u, 0u) == 0) return;
#endif
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  std::vector<int> open;
  while (dirent* entry = ::readdir(folder)) {
    int fd = std::atoi(entry->d_name);
    if (fd >= first && fd != ::dirfd(folder)) open.push_back(fd);
  }
  ::closedir(folder);
  for (int fd : open) ::close(fd);
}

}  // namespace fray::os
