#include "os/process/process_name.h"

#include <sstream>
#include <string>

#include "os/process/process_stat.h"

namespace fray::os {

std::uint64_t start_ticks(pid_t pid) {
  constexpr int kFieldsBefore = 19;  // fields between the name and the start time
  std::istringstream fields(stat_behind_name(pid));
  std::string skipped;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> skipped;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return fields ? ticks : 0;
}

}  // namespace fray::os
