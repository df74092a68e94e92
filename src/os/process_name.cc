#include "os/process_name.h"

#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>

namespace fray::os {

std::uint64_t start_ticks(pid_t pid) {
  constexpr int kFieldsBefore = 19;  // of those behind the name
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> skipped;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return fields ? ticks : 0;
}

}  // namespace fray::os
