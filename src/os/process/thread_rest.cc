#include "os/process/thread_rest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/mutex.h"
#include "os/machine/machine.h"

namespace fray::os {

namespace {

constexpr std::size_t kMostOwnSockets = 1000;

// Sockets by their names in /proc, which are never used again.
struct OwnSockets {
  Mutex mutex;
  std::deque<std::string> names FRAY_GUARDED_BY(mutex);
};

OwnSockets& own_sockets() {
  static OwnSockets sockets;
  return sockets;
}

std::string descriptor_name(int fd) {
  std::error_code failed;
  return std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), failed).string();
}

bool is_own_socket(int fd) {
  const std::string name = descriptor_name(fd);
  OwnSockets& own = own_sockets();
  MutexLock lock(own.mutex);
  return std::find(own.names.begin(), own.names.end(), name) != own.names.end();
}

struct SystemCall {
  long number = -1;
  std::array<std::uint64_t, 6> arguments{};
};

// The system call in which the thread sleeps; none when it runs or sleeps elsewhere.
std::optional<SystemCall> system_call_of(pid_t thread) {
  const std::string text = read_text(fmt::format("/proc/self/task/{}/syscall", thread));
  const char* at = text.data();
  const char* const end = at + text.size();
  SystemCall call;
  auto [behind, wrong] = std::from_chars(at, end, call.number);
  if (wrong != std::errc() || call.number < 0) return std::nullopt;
  at = behind;
  for (std::uint64_t& argument : call.arguments) {
    constexpr std::string_view kBefore = " 0x";
    if (!std::string_view(at, end).starts_with(kBefore)) return std::nullopt;
    auto [next, bad] = std::from_chars(at + kBefore.size(), end, argument, 16);
    if (bad != std::errc()) return std::nullopt;
    at = next;
  }
  return call;
}

// How often a thread has left a CPU, as text.
std::string switches_of(pid_t thread) {
  const std::string text = read_text(fmt::format("/proc/self/task/{}/status", thread));
  const std::size_t place = text.find("\nvoluntary_ctxt_switches:");
  return place == std::string::npos ? std::string() : text.substr(place);
}

// Whether no other process can have the memory at this address.
bool is_private_memory(std::uint64_t address) {
  const std::string maps = read_text("/proc/self/maps");
  for (std::size_t at = 0; at < maps.size();) {
    const std::size_t end = std::min(maps.find('\n', at), maps.size());
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    auto [dash, bad] = std::from_chars(maps.data() + at, maps.data() + end, first, 16);
    auto [blank, wrong] = std::from_chars(dash + 1, maps.data() + end, last, 16);
    if (bad != std::errc() || wrong != std::errc()) return false;
    if (first <= address && address < last) return blank + 4 < maps.data() + end && blank[4] == 'p';  // " rw-p"
    at = end + 1;
  }
  return false;
}

bool sleeps_for_own_futex(const SystemCall& call) {
  const auto operation = static_cast<int>(call.arguments[1]);
  const int command = operation & FUTEX_CMD_MASK;
  if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) return false;
  if (call.arguments[3] != 0) return false;  // a timeout
  return (operation & FUTEX_PRIVATE_FLAG) != 0 || is_private_memory(call.arguments[0]);
}

bool sleeps_for_own_descriptors(const SystemCall& call, const ThreadRest& rest) {
  if (static_cast<std::int32_t>(call.arguments[3]) != -1) return false;
  const std::string watched = read_text(fmt::format("/proc/self/fdinfo/{}", static_cast<int>(call.arguments[0])));
  constexpr std::string_view kWord = "tfd:";
  std::size_t at = watched.find(kWord);
  if (at == std::string::npos) return false;
  for (; at != std::string::npos; at = watched.find(kWord, at + 1)) {
    const std::size_t number = watched.find_first_not_of(' ', at + kWord.size());
    int fd = -1;
    if (number == std::string::npos) return false;
    std::from_chars(watched.data() + number, watched.data() + watched.size(), fd);
    if (!rest.own_descriptors.contains(fd) && !is_own_socket(fd)) return false;
  }
  return true;
}

bool rests(pid_t thread, const ThreadRest& rest) {
  const auto call = system_call_of(thread);
  if (!call) return false;
  if (rest.waiting.contains(thread) || (call->number == SYS_futex && sleeps_for_own_futex(*call))) return true;
#ifdef SYS_epoll_wait
  if (call->number == SYS_epoll_wait) return sleeps_for_own_descriptors(*call, rest);
#endif
  return call->number == SYS_epoll_pwait && sleeps_for_own_descriptors(*call, rest);
}

// The number of switches of each thread; none when one of them does not rest.
std::optional<std::map<pid_t, std::string>> look_at_threads(const ThreadRest& rest) {
  std::map<pid_t, std::string> seen;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (rest.ignored.contains(thread)) continue;
    // Read first, so that the second look finds another count for a thread that runs meanwhile.
    std::string switches = switches_of(thread);
    if (switches.empty() || !rests(thread, rest)) return std::nullopt;
    seen.emplace(thread, std::move(switches));
  }
  if (failed) return std::nullopt;
  return seen;
}

// Whether a signal is to come, or would run code of the program when a child process ends.
bool signals_may_wake() {
  itimerval timer{};
  ::getitimer(ITIMER_REAL, &timer);
  if (timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0) return true;
  if (!read_text("/proc/self/timers").empty()) return true;
  for (int number : {SIGHUP, SIGTERM, SIGCHLD, SIGALRM, SIGIO, SIGUSR1, SIGUSR2}) {
    struct sigaction action {};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) return true;
  }
  return false;
}

}  // namespace

bool all_threads_rest(const ThreadRest& rest) {
  if (signals_may_wake()) return false;
  const auto first = look_at_threads(rest);
  return first && look_at_threads(rest) == first;
}

void note_own_socket(int fd) {
  if (fd < 0 || is_own_socket(fd)) return;
  std::string name = descriptor_name(fd);
  if (!name.starts_with("socket:")) return;
  OwnSockets& own = own_sockets();
  MutexLock lock(own.mutex);
  own.names.push_back(std::move(name));
  if (own.names.size() > kMostOwnSockets) own.names.pop_front();
}

}  // namespace fray::os
