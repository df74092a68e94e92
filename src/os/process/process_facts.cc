#include "os/process/process_facts.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "os/machine/machine.h"
#include "os/process/child_processes.h"
#include "os/process/process_stat.h"

namespace fray::os {

namespace {

constexpr int kDeepestMeasured = 64;

std::uint64_t private_memory(pid_t pid) {
  unsigned long long resident = 0;
  unsigned long long shared = 0;
  std::string text = read_text(fmt::format("/proc/{}/statm", pid));
  if (std::sscanf(text.c_str(), "%*u %llu %llu", &resident, &shared) != 2 || shared > resident) return 0;
  return (resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t proportional_memory(pid_t pid) {
  constexpr std::string_view kName = "Pss_Anon:";
  std::string text = read_text(fmt::format("/proc/{}/smaps_rollup", pid));
  std::size_t begin = text.find(kName);
  if (begin == std::string::npos) return private_memory(pid);  // an older kernel
  return std::strtoull(text.c_str() + begin + kName.size(), nullptr, 10) * 1024;
}

std::uint64_t of_tree(std::uint64_t (*memory)(pid_t), pid_t pid, int depth = 0) {
  std::uint64_t bytes = memory(pid);
  if (depth == kDeepestMeasured) return bytes;
  for (pid_t child : children_of(pid)) bytes += of_tree(memory, child, depth + 1);
  return bytes;
}

}  // namespace

bool is_stopped(pid_t pid) {
  std::string fields = stat_behind_name(pid);
  return fields.starts_with('T') || fields.starts_with('t');
}

std::uint64_t private_memory_bytes(pid_t pid) { return of_tree(private_memory, pid); }

std::uint64_t proportional_memory_bytes(pid_t pid) { return of_tree(proportional_memory, pid); }

double cpu_seconds(pid_t pid) {
  unsigned long long user = 0;
  unsigned long long system = 0;
  // The state is the third field of proc(5), the two times the 14th and the 15th.
  if (std::sscanf(stat_behind_name(pid).c_str(), "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
                  &system) != 2) {
    return 0;
  }
  return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string program_beside(pid_t pid, const std::string& name) {
  std::array<char, 4096> path{};
  const ssize_t size = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), path.data(), path.size());
  const std::string_view program(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::string(program.substr(0, program.rfind('/') + 1)) + name;
}

std::string command_line(pid_t pid) {
  std::string text = read_text(fmt::format("/proc/{}/cmdline", pid));
  std::replace(text.begin(), text.end(), '\0', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace fray::os
