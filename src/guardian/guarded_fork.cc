#include "guardian/guarded_fork.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fault.h"
#include "guardian/guardian_word.h"
#include "os/process/close_range.h"

namespace fray::guardian {

namespace {

constexpr std::size_t kMostDigits = 20;

enum class Heard { kWord, kNothingYet, kEnd };

Heard hear(int link, GuardianWord* word, int flags) {
  ssize_t got = -1;
  do {
    got = ::recv(link, word, sizeof(*word), flags);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return Heard::kNothingYet;
  return got == static_cast<ssize_t>(sizeof(*word)) ? Heard::kWord : Heard::kEnd;
}

// ---- the guardian, until it is executed: it runs in the memory of the process that forks, which waits meanwhile

bool say(int link, const GuardianWord& word) {
  return ::send(link, &word, sizeof(word), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(word));
}

[[noreturn]] void fail(int link, Failed what) {
  GuardianWord word;
  word.error = errno;
  word.failed = what;
  (void)say(link, word);
  ::_exit(1);
}

// The link becomes standard input, and the program standard output until it is executed. All else is closed.
bool settle_fds(int program, int link) {
  const int program_above = ::fcntl(program, F_DUPFD_CLOEXEC, STDERR_FILENO);
  const int link_above = ::fcntl(link, F_DUPFD_CLOEXEC, STDERR_FILENO);
  if (program_above < 0 || link_above < 0) return false;
  if (::dup2(link_above, STDIN_FILENO) < 0 || ::dup3(program_above, STDOUT_FILENO, O_CLOEXEC) < 0) return false;
  os::close_from(STDERR_FILENO);
  return true;
}

[[noreturn]] void become_guardian(int program, int link, pid_t worker) {
  std::array<char, sizeof("fray-guardian")> name = {"fray-guardian"};
  std::array<char, kMostDigits + 1> number = {};
  std::to_chars(number.data(), number.data() + kMostDigits, worker);
  std::array<char*, 3> arguments = {name.data(), number.data(), nullptr};
  GuardianWord born;
  born.worker = worker;
  if (!say(link, born)) ::_exit(1);
  if (!settle_fds(program, link)) fail(link, Failed::kExec);
  ::fexecve(STDOUT_FILENO, arguments.data(), environ);
  fail(STDIN_FILENO, Failed::kExec);
}

// Returns in the worker alone, which has its own memory from then on.
void begin_guardian(pid_t parent, int program, int link) {
  if (!os::end_with(parent, SIGKILL)) ::_exit(1);
  if (!os::become_subreaper().is_ok()) fail(link, Failed::kSubreaper);
  const pid_t guardian = ::getpid();
  const pid_t worker = FRAY_FAULT("fork", EAGAIN) ? -1 : ::fork();
  if (worker < 0) fail(link, Failed::kFork);
  if (worker > 0) become_guardian(program, link, worker);
  if (!os::end_with(guardian, SIGKILL)) ::_exit(1);
}

// ---- the process that forks

Status status_of(const GuardianWord& word) {
  switch (word.failed) {
    case Failed::kNothing:
      return Status::ok();
    case Failed::kSubreaper:
      return Status::io_error("the guardian cannot become a subreaper", word.error);
    case Failed::kFork:
      return Status::io_error("fork failed", word.error);
    case Failed::kExec:
      return Status::io_error("the guardian cannot be executed", word.error);
  }
  return Status(StatusCode::kInternal, "a guardian's word is damaged");
}

// Once the guardian is executed, or has ended.
Result<pid_t> worker_of(int link) {
  GuardianWord born;
  if (hear(link, &born, 0) != Heard::kWord) return Status(StatusCode::kIoError, "the guardian was killed");
  FRAY_RETURN_IF_ERROR(status_of(born));
  if (GuardianWord next; hear(link, &next, MSG_DONTWAIT) == Heard::kWord) FRAY_RETURN_IF_ERROR(status_of(next));
  return born.worker;
}

}  // namespace

GuardedFork GuardedFork::make(int program) {
  GuardedFork made;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    made.status_ = Status::io_error("socketpair failed", errno);
    return made;
  }
  os::Fd near(ends[0]);
  os::Fd far(ends[1]);
  const pid_t parent = ::getpid();
  // A handler would run in the memory that is shared. They stay blocked in the guardian.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t guardian = ::vfork();
  if (guardian == 0) {
    begin_guardian(parent, program, far.get());
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    made.worker_ = 0;
    return made;
  }
  const int error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  far.reset();
  if (guardian < 0) {
    made.status_ = Status::io_error("fork failed", error);
    return made;
  }
  auto worker = worker_of(near.get());
  if (!worker.is_ok()) {
    made.status_ = worker.status();  // the guardian has ended, or is about to, and is reaped like any child
    return made;
  }
  made.guardian_ = guardian;
  made.worker_ = *worker;
  made.link_ = std::move(near);
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
  if (heard == Heard::kEnd || word.failed != Failed::kNothing) return std::nullopt;
  return os::Ended{word.worker, word.wait_status, word.peak_memory_kib};
}

}  // namespace fray::guardian
