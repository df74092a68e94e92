#include "os/process/process_stat.h"

#include <fmt/format.h>

#include "os/machine/machine.h"

namespace fray::os {

std::string stat_behind_name(pid_t pid) {
  std::string text = read_text(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = text.rfind(')');  // the name may contain parentheses itself
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return {};
  return text.substr(name_end + 2);
}

}  // namespace fray::os
