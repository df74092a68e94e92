#include "os/memory/memory_gauge.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

namespace fray::os {

namespace {

constexpr std::uint64_t kMostReserve = 1ull << 30;

std::uint64_t usual_reserve(std::uint64_t limit) { return std::min(limit / 20, kMostReserve); }

// The number behind `name` in lines of "name number" or "name: number kB".
std::uint64_t counted_in(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, name.size(), name) != 0 || line.find_first_of(": ") != name.size()) continue;
    std::istringstream rest(line.substr(name.size() + 1));
    std::uint64_t value = 0;
    rest >> value;
    return value;
  }
  return 0;
}

}  // namespace

std::uint64_t MemoryRoom::reserve_bytes() const {
  if (threshold == 0) return usual_reserve(limit_bytes);
  return static_cast<std::uint64_t>(static_cast<double>(limit_bytes) * (1 - threshold));
}

bool MemoryRoom::is_short() const { return available_bytes < reserve_bytes(); }
bool MemoryRoom::is_scarce() const { return available_bytes < reserve_bytes() + usual_reserve(limit_bytes); }

MemoryGauge::MemoryGauge(const std::string& membership, const std::string& groups, std::string proc, double threshold)
    : groups_(memory_groups(membership, groups)), proc_(std::move(proc)), threshold_(threshold) {}

MemoryGauge MemoryGauge::of_this_process(double threshold) {
  return MemoryGauge(read_text("/proc/self/cgroup"), "/sys/fs/cgroup", "/proc", threshold);
}

MemoryRoom MemoryGauge::room() const {
  MemoryRoom tightest = room_of_machine();
  for (const MemoryGroup& group : groups_) {
    if (group.limit_bytes == 0) continue;
    MemoryRoom room = room_of(group);
    const bool is_tighter = room.is_short() || (room.is_scarce() && !tightest.is_scarce());
    if (is_tighter || tightest.limit_bytes == 0) tightest = room;
    if (tightest.is_short()) break;
  }
  return tightest;
}

MemoryRoom MemoryGauge::room_of_machine() const {
  std::string text = read_text(proc_ + "/meminfo");
  return {counted_in(text, "MemTotal") * 1024, counted_in(text, "MemAvailable") * 1024, threshold_};
}

MemoryRoom MemoryGauge::room_of(const MemoryGroup& group) const {
  std::uint64_t used = read_number(group.folder + (group.version_2 ? "/memory.current" : "/memory.usage_in_bytes"));
  MemoryRoom room{group.limit_bytes, group.limit_bytes - std::min(used, group.limit_bytes), threshold_};
  if (!room.is_scarce()) return room;
  // Caches count as used although they are dropped when memory is needed. This file is read last because it is slow:
  // the kernel sums the counters of all CPUs.
  std::string text = read_text(group.folder + "/memory.stat");
  const char* prefix = group.version_2 ? "" : "total_";
  for (const char* name : {"inactive_file", "active_file"})
    room.available_bytes += counted_in(text, std::string(prefix) + name);
  return room;
}

std::uint64_t MemoryGauge::kernel_kills() const {
  if (groups_.empty()) return counted_in(read_text(proc_ + "/vmstat"), "oom_kill");
  std::uint64_t kills = 0;
  for (const MemoryGroup& group : groups_) {
    kills +=
        counted_in(read_text(group.folder + (group.version_2 ? "/memory.events" : "/memory.oom_control")), "oom_kill");
  }
  return kills;
}

}  // namespace fray::os
