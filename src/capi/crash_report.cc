#include "capi/crash_report.h"

#include <csignal>
#include <cstdlib>
#include <cstring>

#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sanitized.h"

namespace fray::capi {

namespace {

constexpr std::size_t kStackBytes = 64u << 10;
constexpr int kMostFrames = 14;  // the node keeps 20 lines
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};

void say(const char* text) { [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text)); }

// A signal handler: calls nothing that may lock or allocate.
void on_crash(int signal) {
  const char* name = ::sigabbrev_np(signal);
  say("fray: the worker crashed with SIG");
  say(name != nullptr ? name : "?");
  say("; its stack, innermost first:\n");
  void* frames[kMostFrames + 2];
  int count = ::backtrace(frames, kMostFrames + 2);
  if (count > 2) ::backtrace_symbols_fd(frames + 2, count - 2, STDERR_FILENO);
  // The handler is no longer installed (SA_RESETHAND), so this ends the process by the signal itself.
  ::raise(signal);
}

}  // namespace

void report_crashes() {
  if (kUnderAddressSanitizer || kUnderThreadSanitizer) return;  // they have handlers of their own
  void* first[1];
  ::backtrace(first, 1);  // loads its library now, because a handler must not allocate
  void* memory = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kStackBytes;
  if (::sigaltstack(&stack, nullptr) != 0) return;
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (int signal : kSignals) ::sigaction(signal, &action, nullptr);
}

}  // namespace fray::capi
