#include "os/process_facts.h"

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "os/child_processes.h"
#include "os/fd.h"

namespace fray::os {

namespace {

constexpr int kDeepestTree = 64;

std::string read_small(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 1024> text;
  ssize_t size = file.is_open() ? ::read(file.get(), text.data(), text.size()) : 0;
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

std::uint64_t memory_of_tree(pid_t pid, int depth) {
  unsigned long long resident = 0;
  unsigned long long shared = 0;
  std::string text = read_small(fmt::format("/proc/{}/statm", pid));
  if (std::sscanf(text.c_str(), "%*u %llu %llu", &resident, &shared) != 2) return 0;
  std::uint64_t bytes =
      resident > shared ? (resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
  if (depth == kDeepestTree) return bytes;
  for (pid_t child : children_of(pid)) bytes += memory_of_tree(child, depth + 1);
  return bytes;
}

}  // namespace

bool is_stopped(pid_t pid) {
  std::string text = read_small(fmt::format("/proc/{}/stat", pid));
  std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  return std::string_view("Tt").find(text[name_end + 2]) != std::string_view::npos;
}

std::uint64_t private_memory_bytes(pid_t pid) { return memory_of_tree(pid, 0); }

}  // namespace fray::os
