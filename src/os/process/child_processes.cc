#include "os/process/child_processes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include <dirent.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/process/process_stat.h"

namespace fray::os {

pid_t parent_of(pid_t pid) {
  std::string fields = stat_behind_name(pid);  // the state, then the parent
  return fields.size() > 2 ? std::atoi(fields.c_str() + 2) : -1;
}

namespace {

std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> numbers;
  DIR* opened = ::opendir(folder.c_str());
  if (opened == nullptr) return numbers;
  while (dirent* entry = ::readdir(opened)) {
    int number = std::atoi(entry->d_name);
    if (number > 0) numbers.push_back(number);
  }
  ::closedir(opened);
  return numbers;
}

std::vector<pid_t> children_by_scan(pid_t pid) {
  std::vector<pid_t> children;
  for (pid_t candidate : numbers_in("/proc")) {
    if (parent_of(candidate) == pid) children.push_back(candidate);
  }
  return children;
}

constexpr int kDeepestTree = 256;

void signal_tree(pid_t pid, int signal, int depth) {
  if (depth > kDeepestTree) return;
  std::vector<pid_t> children = children_of(pid);
  ::kill(pid, signal);
  for (pid_t child : children) signal_tree(child, signal, depth + 1);
}

void nap() {
  timespec pause{0, 1'000'000};
  ::nanosleep(&pause, nullptr);
}

}  // namespace

Status become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return Status::io_error("PR_SET_CHILD_SUBREAPER", errno);
  return Status::ok();
}

bool end_with(pid_t parent, int signal) {
  ::prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
  return ::getppid() == parent;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  for (pid_t thread : numbers_in(fmt::format("/proc/{}/task", pid))) {
    std::ifstream file(fmt::format("/proc/{}/task/{}/children", pid, thread));
    if (!file.is_open()) {
      if (::kill(pid, 0) != 0) return children;
      return children_by_scan(pid);
    }
    pid_t child = 0;
    while (file >> child) children.push_back(child);
  }
  return children;
}

std::vector<pid_t> children_of_this_process() { return children_of(::getpid()); }

std::optional<Ended> reap_one() {
  rusage usage{};
  Ended ended;
  while (true) {
    ended.pid = ::wait4(-1, &ended.wait_status, WNOHANG, &usage);
    if (ended.pid > 0) break;
    if (ended.pid < 0 && errno == EINTR) continue;
    return std::nullopt;
  }
  ended.peak_memory_kib = usage.ru_maxrss;
  return ended;
}

void kill_tree(pid_t pid) { signal_tree(pid, SIGKILL, 0); }

void signal_descendants(int signal) {
  for (pid_t child : children_of_this_process()) signal_tree(child, signal, 0);
}

void kill_stopped_tree(pid_t pid) {
  constexpr int kMostPasses = 64;
  std::set<pid_t> tree{pid};
  for (int pass = 0; pass < kMostPasses; ++pass) {
    std::vector<pid_t> found(tree.begin(), tree.end());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ::kill(found[i], SIGSTOP);
      for (pid_t child : children_of(found[i])) {
        if (tree.insert(child).second) found.push_back(child);
      }
    }
    nap();  // a fork that had begun is complete now, so the next pass sees its child
    if (found.size() == tree.size() && pass > 0 && std::none_of(found.begin(), found.end(), [&tree](pid_t each) {
          const std::vector<pid_t> children = children_of(each);
          return std::any_of(children.begin(), children.end(), [&tree](pid_t child) { return !tree.contains(child); });
        })) {
      break;
    }
  }
  for (pid_t each : tree) ::kill(each, SIGKILL);
}

Status kill_all_descendants(std::chrono::milliseconds limit, const std::function<void(const Ended&)>& on_ended) {
  auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    while (auto ended = reap_one()) {
      if (on_ended) on_ended(*ended);
    }
    std::vector<pid_t> children = children_of_this_process();
    if (children.empty()) return Status::ok();
    for (pid_t child : children) kill_tree(child);
    if (std::chrono::steady_clock::now() > deadline) {
      return Status(StatusCode::kTimedOut, fmt::format("{} processes did not end when killed", children.size()));
    }
    nap();
  }
}

}  // namespace fray::os
