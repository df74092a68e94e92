#include "os/machine/machine.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include <sched.h>
#include <unistd.h>

namespace fray::os {

namespace {

void lower(double& limit, double value) {
  if (value > 0 && (limit == 0 || value < limit)) limit = value;
}

void lower(std::uint64_t& limit, std::uint64_t value) {
  constexpr std::uint64_t kNoLimit = 1ull << 60;  // v1 writes a huge number
  if (value > 0 && value < kNoLimit && (limit == 0 || value < limit)) limit = value;
}

double number(const std::string& text) {
  std::istringstream in(text);
  double value = 0;
  in >> value;
  return in ? value : 0;
}

// v2: cpu.max holds "max 100000" or "150000 100000".
void read_v2_cpu(const std::string& folder, GroupLimits& limits) {
  std::istringstream cpu(read_text(folder + "/cpu.max"));
  double quota = 0;
  double period = 0;
  if (cpu >> quota >> period && period > 0) lower(limits.cpus, quota / period);
}

void read_v1_cpu(const std::string& folder, GroupLimits& limits) {
  double quota = number(read_text(folder + "/cpu.cfs_quota_us"));
  double period = number(read_text(folder + "/cpu.cfs_period_us"));
  if (quota > 0 && period > 0) lower(limits.cpus, quota / period);
}

// Calls `read` for `root` + every prefix of `path`, the longest first. Inside a container the path of the host may not
// exist; then only the root counts.
template <typename Read>
void walk_up(const std::string& root, std::string path, Read read) {
  while (!path.empty() && path != "/") {
    read(root + path);
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
  read(root);
}

// Calls `read` with controllers (none: version 2) and path of each line of /proc/self/cgroup.
template <typename Read>
void for_each_group(const std::string& membership, Read read) {
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    std::size_t first = line.find(':');
    std::size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    read(line.substr(first + 1, second - first - 1), line.substr(second + 1));
  }
}

bool contains(std::string_view list, std::string_view word) {
  std::string padded = "," + std::string(list) + ",";
  return padded.find("," + std::string(word) + ",") != std::string::npos;
}

}  // namespace

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint64_t read_number(const std::string& path) { return std::strtoull(read_text(path).c_str(), nullptr, 10); }

GroupLimits read_group_limits(const std::string& membership, const std::string& root) {
  GroupLimits limits;
  for_each_group(membership, [&](const std::string& controllers, const std::string& path) {
    if (controllers.empty()) {
      walk_up(root, path, [&](const std::string& folder) { read_v2_cpu(folder, limits); });
      walk_up(root + "/unified", path, [&](const std::string& folder) { read_v2_cpu(folder, limits); });
    }
    if (contains(controllers, "cpu")) {
      walk_up(root + "/cpu", path, [&](const std::string& folder) { read_v1_cpu(folder, limits); });
    }
  });
  for (const MemoryGroup& group : memory_groups(membership, root)) lower(limits.memory_bytes, group.limit_bytes);
  return limits;
}

std::vector<MemoryGroup> memory_groups(const std::string& membership, const std::string& root) {
  std::vector<MemoryGroup> groups;
  auto look = [&](const std::string& folder, bool version_2) {
    std::string text = read_text(folder + (version_2 ? "/memory.max" : "/memory.limit_in_bytes"));
    if (text.empty()) return;
    MemoryGroup group{folder, version_2, 0};
    lower(group.limit_bytes, static_cast<std::uint64_t>(number(text)));  // "max" is no number
    groups.push_back(std::move(group));
  };
  for_each_group(membership, [&](const std::string& controllers, const std::string& path) {
    if (controllers.empty()) {
      walk_up(root, path, [&](const std::string& folder) { look(folder, true); });
      walk_up(root + "/unified", path, [&](const std::string& folder) { look(folder, true); });
    }
    if (contains(controllers, "memory")) {
      walk_up(root + "/memory", path, [&](const std::string& folder) { look(folder, false); });
    }
  });
  return groups;
}

double usable_cpus() {
  double cpus = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t affinity;
  CPU_ZERO(&affinity);
  if (::sched_getaffinity(0, sizeof(affinity), &affinity) == 0) cpus = CPU_COUNT(&affinity);
  GroupLimits limits = read_group_limits(read_text("/proc/self/cgroup"), "/sys/fs/cgroup");
  if (limits.cpus > 0) cpus = std::min(cpus, limits.cpus);
  return std::max(1.0, std::floor(cpus + 1e-9));
}

bool overcommit_is_strict(const std::string& setting) { return number(read_text(setting)) == 2; }

std::uint64_t usable_memory_bytes() {
  auto pages = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  std::uint64_t memory = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  GroupLimits limits = read_group_limits(read_text("/proc/self/cgroup"), "/sys/fs/cgroup");
  if (limits.memory_bytes > 0) memory = std::min(memory, limits.memory_bytes);
  return memory;
}

}  // namespace fray::os
