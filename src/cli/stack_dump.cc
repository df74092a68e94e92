#include "cli/stack_dump.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/fd.h"

namespace fray::cli {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// The same values as in python/fray/_stack_dump.py.
constexpr std::string_view kFileName = "/memfd:fray-stacks";
int stack_signal() { return SIGRTMIN + 11; }

constexpr std::chrono::milliseconds kPause{1};

struct ThreadState {
  std::string state;  // "S (sleeping)"
  std::uint64_t pending = 0;
  std::uint64_t blocked = 0;
  std::uint64_t caught = 0;
};

// Reads the state of the main thread. False when the process is gone.
bool read_state(pid_t pid, ThreadState* out) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/status", pid));
  if (!file) return false;
  for (std::string line; std::getline(file, line);) {
    std::size_t colon = line.find(":\t");
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    std::string value = line.substr(colon + 2);
    if (name == "State") out->state = value;
    if (name == "SigPnd") out->pending = std::strtoull(value.c_str(), nullptr, 16);
    if (name == "SigBlk") out->blocked = std::strtoull(value.c_str(), nullptr, 16);
    if (name == "SigCgt") out->caught = std::strtoull(value.c_str(), nullptr, 16);
  }
  return !out->state.empty();
}

std::uint64_t signal_bit() { return std::uint64_t{1} << (stack_signal() - 1); }

os::Fd open_stack_file(pid_t pid) {
  std::error_code error;
  for (fs::directory_iterator entry(fmt::format("/proc/{}/fd", pid), error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(entry->path(), gone).string().starts_with(kFileName)) {
      return os::Fd(::open(entry->path().c_str(), O_RDWR | O_CLOEXEC));
    }
  }
  return os::Fd();
}

std::string whole_text(const os::Fd& file) {
  std::string text;
  char buffer[16 << 10];
  ssize_t got = 0;
  while ((got = ::pread(file.get(), buffer, sizeof(buffer), static_cast<off_t>(text.size()))) > 0) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

bool has_content(const os::Fd& file) {
  struct stat found {};
  return ::fstat(file.get(), &found) == 0 && found.st_size > 0;
}

}  // namespace

Result<std::string> dump_stacks(pid_t pid, std::chrono::milliseconds patience) {
  ThreadState state;
  if (!read_state(pid, &state)) return Status(StatusCode::kNotFound, "the process is gone");
  os::Fd file = open_stack_file(pid);
  if (!file.is_open() || (state.caught & signal_bit()) == 0) {
    return Status(StatusCode::kNotFound, "the process does not tell its stacks");
  }
  ::flock(file.get(), LOCK_EX);
  if (::ftruncate(file.get(), 0) != 0) return Status::io_error("cannot empty the file for stacks", errno);
  if (::syscall(SYS_tgkill, pid, pid, stack_signal()) != 0) return Status::io_error("tgkill", errno);
  auto deadline = Clock::now() + patience;
  while (Clock::now() < deadline) {
    // The signal is blocked while its handler runs, so a dump that has begun is complete when the signal is neither pending
    // nor blocked. It is neither for a moment before the handler, too: so whether it has begun is looked at first.
    const bool has_begun = has_content(file);
    if (!read_state(pid, &state)) return Status(StatusCode::kNotFound, "the process ended meanwhile");
    const bool under_way = ((state.pending | state.blocked) & signal_bit()) != 0;
    if (has_begun && !under_way) return whole_text(file);
    std::this_thread::sleep_for(kPause);
  }
  return Status(StatusCode::kTimedOut, fmt::format("the process does not answer; its state is {}", state.state));
}

}  // namespace fray::cli
