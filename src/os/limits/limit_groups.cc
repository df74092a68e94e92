#include "os/limits/limit_groups.h"

#include <cerrno>
#include <csignal>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount_text.h"
#include "base/fault.h"
#include "os/fd.h"
#include "os/machine/machine.h"

namespace fray::os {

namespace {

constexpr int kKillRounds = 100;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool has_word(const std::string& text, const std::string& word) {
  std::istringstream words(text);
  for (std::string each; words >> each;) {
    if (each == word) return true;
  }
  return false;
}

bool write_text(const std::string& path, const std::string& text) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::uint64_t counter_in(const std::string& text, const std::string& name) {
  std::istringstream words(text);
  std::string key;
  std::uint64_t value = 0;
  while (words >> key >> value) {
    if (key == name) return value;
  }
  return 0;
}

// Which limits a folder of control groups can set for groups below it.
GroupPlace look_at(const std::string& folder, bool version_2) {
  GroupPlace place{folder, version_2, false, false};
  if (::access(folder.c_str(), W_OK) != 0) return place;
  if (version_2) {
    // Controllers that are not enabled for child groups cannot be enabled, because this group contains processes.
    const std::string handed_down = read_text(folder + "/cgroup.subtree_control");
    place.limits_memory = has_word(handed_down, "memory");
    place.limits_processes = has_word(handed_down, "pids");
  } else {
    place.limits_memory = exists(folder + "/memory.limit_in_bytes");
    // The root of the hierarchy has no pids.max of its own.
    place.limits_processes = exists(folder + "/pids.max") || folder.ends_with("/pids");
  }
  return place;
}

// From the process's own group up to the root, the first that can do anything.
void look_upwards(const std::string& root, std::string path, bool version_2, std::vector<GroupPlace>& places) {
  while (true) {
    if (path == "/") path.clear();
    if (exists(root + path)) {
      GroupPlace place = look_at(root + path, version_2);
      if (place.limits_memory || place.limits_processes) return places.push_back(std::move(place));
    }
    if (path.empty()) return;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

}  // namespace

std::vector<GroupPlace> find_group_places(const std::string& membership, const std::string& root) {
  std::vector<GroupPlace> places;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      look_upwards(root, path, true, places);
      look_upwards(root + "/unified", path, true, places);
    } else if (controllers == "memory" || controllers == "pids") {
      look_upwards(root + "/" + controllers, path, false, places);
    }
  }
  return places;
}

std::vector<GroupPlace> find_group_places() {
  return find_group_places(read_text("/proc/self/cgroup"), "/sys/fs/cgroup");
}

std::string used_of(std::uint64_t bytes, std::uint64_t limit_bytes) {
  return fmt::format("used {} of {}", bytes_text(bytes), bytes_text(limit_bytes));
}

std::string GroupMemory::verdict() const {
  if (killed == 0) return {};
  if (limit_bytes == 0) return "out of memory: its limit is less than a page of memory";
  if (peak_bytes == 0) return "out of memory: used all of " + bytes_text(limit_bytes);
  return "out of memory: " + used_of(peak_bytes, limit_bytes);
}

Result<LimitGroups> LimitGroups::make(const LimitPlan& plan) {
  LimitGroups made({});
  auto set_up = [](const LimitPlan::Group& group) -> Status {
    if ((FRAY_FAULT("limit_group", EACCES) || ::mkdir(group.folder.c_str(), 0755) != 0) && errno != EEXIST) {
      return Status::io_error("cannot make the control group " + group.folder, errno);
    }
    for (const auto& [file, text] : group.settings) {
      // A kernel without swap has no such file.
      const bool is_wish = file.find("swap") != std::string::npos || file.find("memsw") != std::string::npos;
      if (!write_text(group.folder + "/" + file, text) && !is_wish) {
        return Status::io_error(fmt::format("cannot set {} of {}", file, group.folder), errno);
      }
    }
    return Status::ok();
  };
  for (const LimitPlan::Group& group : plan.groups) {
    Status ready = set_up(group);
    made.groups_.push_back(group);
    if (ready.is_ok()) continue;
    made.remove();
    return ready;
  }
  return made;
}

GroupMemory LimitGroups::memory() const {
  GroupMemory memory;
  for (const LimitPlan::Group& group : groups_) {
    if (!group.limits_memory) continue;
    auto file = [&](const char* version_2, const char* version_1) {
      return group.folder + (group.version_2 ? version_2 : version_1);
    };
    memory.peak_bytes = read_number(file("/memory.peak", "/memory.max_usage_in_bytes"));
    memory.limit_bytes = read_number(file("/memory.max", "/memory.limit_in_bytes"));
    memory.killed = counter_in(read_text(file("/memory.events", "/memory.oom_control")), "oom_kill");
  }
  return memory;
}

void LimitGroups::kill() const {
  for (const LimitPlan::Group& group : groups_) {
    if (group.version_2 && write_text(group.folder + "/cgroup.kill", "1")) continue;
    // Repeated until no process is found, because they may fork meanwhile.
    for (int round = 0; round < kKillRounds; ++round) {
      std::istringstream pids(read_text(group.folder + "/cgroup.procs"));
      bool any = false;
      for (pid_t pid = 0; pids >> pid;) any = ::kill(pid, SIGKILL) == 0 || any;
      if (!any) break;
    }
  }
}

bool LimitGroups::remove() const {
  bool all = true;
  for (const LimitPlan::Group& group : groups_) {
    if (::rmdir(group.folder.c_str()) != 0 && errno != ENOENT) all = false;
  }
  return all;
}

}  // namespace fray::os
