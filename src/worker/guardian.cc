#include "worker/guardian.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/process/close_range.h"

namespace fray::worker {

namespace {

constexpr std::chrono::seconds kEndLimit{1};
constexpr std::chrono::seconds kGuardianKillLimit{5};

// A message of a guardian: the first one is about the worker's start, the second about its end.
struct GuardianWord {
  pid_t worker = -1;
  int error = 0;
  int wait_status = 0;
  long peak_memory_kib = 0;
};

bool say(int link, const GuardianWord& word) {
  return ::send(link, &word, sizeof(word), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(word));
}

enum class Heard { kWord, kNothingYet, kEnd };

Heard hear(int link, GuardianWord* word, int flags) {
  ssize_t got = -1;
  do {
    got = ::recv(link, word, sizeof(*word), flags);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return Heard::kNothingYet;
  return got == static_cast<ssize_t>(sizeof(*word)) ? Heard::kWord : Heard::kEnd;
}

GuardianWord wait_for_worker(pid_t worker) {
  while (true) {
    GuardianWord word;
    rusage usage{};
    const pid_t ended = ::wait4(-1, &word.wait_status, 0, &usage);
    if (ended < 0 && errno == EINTR) continue;
    if (ended != worker && ended > 0) continue;  // another process, which the worker left behind
    word.worker = worker;
    word.peak_memory_kib = usage.ru_maxrss;
    return word;
  }
}

// Unlike the list of children in /proc, which may miss one while others come and go, this is exact.
bool has_children() {
  siginfo_t info;
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// Programs get the time to end in order: a Fray node, for example, removes its folder.
void end_what_is_left() {
  const auto deadline = std::chrono::steady_clock::now() + kEndLimit;
  for (bool asked = false; std::chrono::steady_clock::now() < deadline; asked = true) {
    while (os::reap_one()) {
    }
    if (!has_children()) return;
    if (!asked) os::signal_descendants(SIGTERM);
    const timespec pause{0, 5'000'000};
    ::nanosleep(&pause, nullptr);
  }
  // A process that does not die within the limit cannot be killed at all; all others have ended.
  if (!os::kill_all_descendants(kGuardianKillLimit).is_ok()) return;
}

[[noreturn]] void guard(pid_t worker, os::Fd link) {
  ::prctl(PR_SET_NAME, "fray-guardian", 0, 0, 0);
  ::dup2(link.get(), STDIN_FILENO);
  os::close_from(STDIN_FILENO + 1);
  GuardianWord born;
  born.worker = worker;
  char released = 0;
  if (!say(STDIN_FILENO, born)) ::_exit(1);
  while (::recv(STDIN_FILENO, &released, 1, 0) < 0 && errno == EINTR) {
  }
  // Report the end first, because the fork server waits for it.
  (void)say(STDIN_FILENO, wait_for_worker(worker));
  ::close(STDIN_FILENO);
  end_what_is_left();
  ::_exit(has_children() ? 1 : 0);
}

}  // namespace

GuardedFork GuardedFork::failed(int error) {
  GuardedFork none;
  none.error_ = error;
  return none;
}

GuardedFork GuardedFork::make() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return failed(errno);
  os::Fd near(ends[0]);
  os::Fd far(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t guardian = FRAY_FAULT("fork", EAGAIN) ? -1 : ::fork();
  if (guardian < 0) return failed(errno);
  if (guardian == 0) {
    near.reset();
    return go_on_as_guardian(parent, std::move(far));
  }
  far.reset();
  GuardianWord born;
  const bool told = hear(near.get(), &born, 0) == Heard::kWord;
  if (!told || born.error != 0)
    return failed(told ? born.error : ECHILD);  // the guardian has ended and is reaped like any child
  GuardedFork made;
  made.guardian_ = guardian;
  made.worker_ = born.worker;
  made.link_ = std::move(near);
  return made;
}

GuardedFork GuardedFork::go_on_as_guardian(pid_t parent, os::Fd link) {
  if (!os::end_with(parent, SIGKILL)) ::_exit(1);
  GuardianWord failure;
  const pid_t guardian = ::getpid();
  const pid_t worker = os::become_subreaper().is_ok() ? ::fork() : -1;
  if (worker < 0) {
    failure.error = errno == 0 ? EAGAIN : errno;
    (void)say(link.get(), failure);
    ::_exit(1);
  }
  if (worker > 0) guard(worker, std::move(link));
  if (!os::end_with(guardian, SIGKILL)) ::_exit(1);
  GuardedFork made;
  made.worker_ = 0;
  return made;
}

void GuardedFork::released() {
  const char byte = 0;
  // A failure means that the guardian has ended, which does not matter.
  [[maybe_unused]] const ssize_t sent = ::send(link_.get(), &byte, 1, MSG_NOSIGNAL);
}

std::optional<os::Ended> GuardedFork::worker_end() {
  GuardianWord word;
  if (!link_.is_open()) return std::nullopt;
  const Heard heard = hear(link_.get(), &word, MSG_DONTWAIT);
  if (heard == Heard::kNothingYet) return std::nullopt;
  link_.reset();
  if (heard == Heard::kEnd) return std::nullopt;
  return os::Ended{word.worker, word.wait_status, word.peak_memory_kib};
}

}  // namespace fray::worker
