#include "os/limits/descriptor_room.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <dirent.h>
#include <fmt/format.h>
#include <sys/resource.h>

namespace fray::os {

namespace {

std::size_t most_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return std::numeric_limits<std::size_t>::max() / 2;
  }
  return limit.rlim_cur;
}

std::optional<std::size_t> open_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return std::nullopt;
  std::size_t entries = 0;
  while (::readdir(folder) != nullptr) ++entries;
  ::closedir(folder);
  return entries > 3 ? entries - 3 : 0;  // ".", "..", and the folder itself
}

}  // namespace

// Counting reads an entry for each open descriptor, so it is done more rarely the more descriptors are free.
bool DescriptorRoom::has_room_for(std::size_t more) {
  if (unseen_ > 0) {
    --unseen_;
    return true;
  }
  const std::size_t most = most_descriptors();
  const std::optional<std::size_t> open = open_descriptors();
  if (!open) return false;  // not even the folder could be opened
  const std::size_t taken = *open + more + std::min(most / 6, kMostSpare);
  if (taken > most) return false;
  unseen_ = (most - taken) / 8;
  return true;
}

std::string DescriptorRoom::text() const {
  return fmt::format("{} of {} descriptors are in use", open_descriptors().value_or(most_descriptors()),
                     most_descriptors());
}

}  // namespace fray::os
