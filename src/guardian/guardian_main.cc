// fray-guardian WORKER: waits for its child, the worker of that number, reports its end, and ends what the worker leaves
// behind (guarded_fork.h). Standard input is the socket to the process that forked the worker.
//
// The program begins with its own entry and waits by system calls alone. The C library starts only where a worker has left
// somebody behind: its start asks the CPU for what it can, which takes half a millisecond under some hypervisors (up to
// 20 us a question), and each worker would pay that, and 60 kB of memory.
//
// Threading:  one thread, with all signals blocked: what is meant for a fork server and its group does not end it.
// Ownership:  all processes below it.
// Failure:    exit code 1 when processes are left that cannot be killed, 2 for arguments that are none.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guardian/guardian_word.h"
#include "os/process/child_processes.h"

namespace {

using fray::guardian::GuardianWord;

// ---- before the C library: there is no errno, no variable of a thread and no stack protector (src/CMakeLists.txt)

bool waited = false;

#if defined(__x86_64__)

// Up to six arguments; a result below 0 is a negative errno value.
long call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

long call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

#else

long call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  const long result = ::syscall(number, a, b, c, d, e, f);
  return result == -1 ? -errno : result;
}

#endif

template <typename T>
long address(T* of) {
  return reinterpret_cast<long>(of);
}

// 0: the word is no number.
pid_t number_of(const char* word) {
  pid_t number = 0;
  for (; *word != '\0'; ++word) {
    if (*word < '0' || *word > '9' || number > 100'000'000) return 0;
    number = number * 10 + (*word - '0');
  }
  return number;
}

// Until then the worker is not reaped, so that its number is its own.
void wait_until_released() {
  char byte = 0;
  while (call(SYS_recvfrom, STDIN_FILENO, address(&byte), 1) == -EINTR) {
  }
}

void wait_for(pid_t worker, GuardianWord* end, rusage* usage) {
  while (true) {
    const long ended = call(SYS_wait4, -1, address(&end->wait_status), 0, address(usage));
    if (ended == worker || (ended < 0 && ended != -EINTR)) return;
    // Else it was another process, which the worker left behind.
  }
}

// Reaps who has ended. Unlike the list of children in /proc, which may miss one while others come and go, this is exact.
bool somebody_lives() {
  long reaped;
  do {
    reaped = call(SYS_wait4, -1, 0, WNOHANG);
  } while (reaped > 0 || reaped == -EINTR);
  return reaped == 0;
}

// Where nobody is left behind it does not return. For arguments that are none it does nothing.
void wait_for_worker(int count, char** words) {
  const pid_t worker = count == 2 ? number_of(words[1]) : 0;
  if (worker == 0) return;
  waited = true;
  (void)call(SYS_prctl, PR_SET_NAME, address("fray-guardian"));  // an open file that is executed gives it no name
  wait_until_released();
  GuardianWord end;
  rusage usage;
  usage.ru_maxrss = 0;
  wait_for(worker, &end, &usage);
  end.worker = worker;
  end.peak_memory_kib = usage.ru_maxrss;
  // The fork server waits for this, so it comes before the rest.
  (void)call(SYS_sendto, STDIN_FILENO, address(&end), sizeof(end), MSG_NOSIGNAL);
  (void)call(SYS_close, STDIN_FILENO);
  if (!somebody_lives()) (void)call(SYS_exit_group, 0);
}

// ---- with the C library

constexpr std::chrono::seconds kEndLimit{1};
constexpr std::chrono::seconds kKillLimit{5};

// Programs get the time to end in order: a Fray node, for example, removes its folder.
void end_what_is_left() {
  const auto deadline = std::chrono::steady_clock::now() + kEndLimit;
  for (bool asked = false; std::chrono::steady_clock::now() < deadline; asked = true) {
    if (!somebody_lives()) return;
    if (!asked) fray::os::signal_descendants(SIGTERM);
    const timespec pause{0, 5'000'000};
    ::nanosleep(&pause, nullptr);
  }
  // A process that does not die within the limit cannot be killed at all; all others have ended.
  if (!fray::os::kill_all_descendants(kKillLimit).is_ok()) return;
}

}  // namespace

extern "C" {

// The kernel starts a program with the number of words and pointers to them on the stack.
[[gnu::used]] void fray_guardian_begin(long* stack) {
  wait_for_worker(static_cast<int>(stack[0]), reinterpret_cast<char**>(stack + 1));
}
}

// The entry: calls the above, and goes on with the entry of the C library as if nothing had been.
#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl fray_guardian_entry\n"
    "fray_guardian_entry:\n"
    "  mov %rsp, %rbx\n"
    "  mov %rdx, %r12\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call fray_guardian_begin\n"
    "  mov %rbx, %rsp\n"
    "  mov %r12, %rdx\n"
    "  xor %ebp, %ebp\n"
    "  jmp _start\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    ".globl fray_guardian_entry\n"
    "fray_guardian_entry:\n"
    "  mov x20, x0\n"
    "  mov x0, sp\n"
    "  bl fray_guardian_begin\n"
    "  mov x0, x20\n"
    "  b _start\n");
#endif

int main(int argc, char** argv) {
  if (!waited) wait_for_worker(argc, argv);  // under a sanitizer, and on other processors
  if (!waited) return 2;
  end_what_is_left();
  return somebody_lives() ? 1 : 0;
}
