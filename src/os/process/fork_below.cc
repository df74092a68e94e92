#include "os/process/fork_below.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "os/process/spawn.h"

// AddressSanitizer's vfork notes one place to return to, which a second call, in the child, writes over.
#if defined(__SANITIZE_ADDRESS__)
extern "C" pid_t __vfork() noexcept __attribute__((returns_twice));
#define FRAY_VFORK() ::__vfork()
#else
#define FRAY_VFORK() ::vfork()
#endif

namespace fray::os {

namespace {

constexpr int kFirstFd = 3;
constexpr std::size_t kMostFds = 8;
constexpr std::size_t kMostDigits = 20;

// What is prepared before the first of the processes is made, and what went wrong in them. They allocate nothing.
struct Plan {
  std::vector<char*> arguments;
  std::array<char, kMostDigits + 1> copy_number = {};  // the last argument
  std::vector<int> fds;
  bool refuses_fork = false;
  const char* volatile failed = nullptr;
  volatile int error = 0;
};

void note_failure(Plan* plan, const char* what) {
  plan->error = errno;
  plan->failed = what;
}

bool assign_fds(const std::vector<int>& fds) {
  std::array<int, kMostFds> copies = {};
  // These have numbers above those that are assigned, so that none is overwritten that is still to be copied.
  for (std::size_t i = 0; i < fds.size(); ++i) {
    copies[i] = ::fcntl(fds[i], F_DUPFD_CLOEXEC, kFirstFd + static_cast<int>(fds.size()));
    if (copies[i] < 0) return false;
  }
  for (std::size_t i = 0; i < fds.size(); ++i) {
    if (::dup2(copies[i], kFirstFd + static_cast<int>(i)) < 0) return false;
  }
  return true;
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);  // refused for some, which have no handlers
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_program(Plan* plan, pid_t copy) {
  std::to_chars(plan->copy_number.data(), plan->copy_number.data() + kMostDigits, copy);
  if (assign_fds(plan->fds)) {
    reset_signals();
    ::execv(plan->arguments.front(), plan->arguments.data());
  }
  note_failure(plan, "executing the program");
  ::_exit(1);
}

// The life of the starter. Returns in the copy alone, which has its own memory from then on.
void start_program(Plan* plan) {
  const pid_t program = FRAY_VFORK();
  if (program == 0) {
    ::setsid();  // outside of the terminal of this process
    const pid_t copy = plan->refuses_fork ? -1 : ::fork();
    if (copy == 0) return;
    if (copy > 0) become_program(plan, copy);
    note_failure(plan, "the fork");
    ::_exit(1);
  }
  if (program < 0) note_failure(plan, "starting the program");
  ::_exit(0);
}

void reap(pid_t child) {
  // A failure means that this process has the kernel reap its children.
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

Result<Forked> fork_below(const ProgramAbove& program) {
  if (program.fds.size() > kMostFds) return Status(StatusCode::kInvalidArgument, "fork_below: too many descriptors");
  std::vector<std::string> command = program.command;
  Plan plan;
  plan.arguments = exec_pointers(command);
  plan.arguments.insert(plan.arguments.end() - 1, plan.copy_number.data());
  plan.fds = program.fds;
  plan.refuses_fork = FRAY_FAULT("fork_below", EAGAIN);
  const pid_t starter = FRAY_VFORK();
  if (starter == 0) {
    start_program(&plan);
    return Forked::kCopy;
  }
  if (starter < 0) return Status::io_error("vfork", errno);
  reap(starter);
  if (plan.failed != nullptr) return Status::io_error(plan.failed, plan.error);
  return Forked::kThisProcess;
}

}  // namespace fray::os
