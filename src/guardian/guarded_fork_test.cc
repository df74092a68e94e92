#include "guardian/guarded_fork.h"

#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "os/process/pidfd.h"
#include "os/process/process_facts.h"

namespace fray::guardian {
namespace {

os::Fd program() { return os::Fd(::open(os::program_beside(::getpid(), "fray-guardian").c_str(), O_PATH | O_CLOEXEC)); }

bool is_readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, 20'000) > 0;
}

// The worker's part: a grandchild in a session of its own; then it waits for a byte.
[[noreturn]] void leave_somebody_behind(int tell, int hear, int code) {
  if (::fork() == 0) {
    ::setsid();
    const pid_t orphan = ::fork();
    if (orphan == 0) {
      while (true) ::pause();
    }
    if (::write(tell, &orphan, sizeof(orphan)) != static_cast<ssize_t>(sizeof(orphan))) ::_exit(9);
    ::_exit(0);
  }
  char byte = 0;
  ::_exit(::read(hear, &byte, 1) == 1 ? code : 9);
}

struct GuardedWorker {
  explicit GuardedWorker(int code) {
    int up[2];
    int down[2];
    EXPECT_EQ(::pipe(up) + ::pipe(down), 0);
    fork = std::make_unique<GuardedFork>(GuardedFork::make(program().get()));
    if (fork->is_worker()) leave_somebody_behind(up[1], down[0], code);
    // Not an expectation: a test that went on with the numbers of no process would kill all that there are.
    if (!fork->status().is_ok()) throw std::runtime_error(fork->status().message());
    ::close(up[1]);
    ::close(down[0]);
    worker = os::open_pidfd(fork->worker()).value();
    fork->released();
    pid_t number = -1;
    EXPECT_EQ(::read(up[0], &number, sizeof(number)), static_cast<ssize_t>(sizeof(number)));
    orphan = os::open_pidfd(number).value();
    ::close(up[0]);
    tell = os::Fd(down[1]);
  }
  ~GuardedWorker() { ::waitpid(fork->guardian(), nullptr, 0); }
  void end() { EXPECT_EQ(::write(tell.get(), "x", 1), 1); }

  std::unique_ptr<GuardedFork> fork;
  os::Fd worker;
  os::Fd orphan;
  os::Fd tell;
};

TEST(Guardian, ReportsHowItsWorkerEndedAndEndsWhatThatLeft) {
  GuardedWorker guarded(7);
  EXPECT_FALSE(guarded.fork->worker_end());
  guarded.end();
  ASSERT_TRUE(is_readable(guarded.fork->link()));
  const auto ended = guarded.fork->worker_end();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->pid, guarded.fork->worker());
  EXPECT_EQ(WEXITSTATUS(ended->wait_status), 7);
  EXPECT_GT(ended->peak_memory_kib, 0);
  EXPECT_TRUE(is_readable(guarded.orphan.get()));
  EXPECT_FALSE(guarded.fork->worker_end()) << "told once";
}

TEST(Guardian, WhatAnotherWorkerLeftIsNotTouched) {
  GuardedWorker lasting(0);
  {
    GuardedWorker ending(0);
    ending.end();
    EXPECT_TRUE(is_readable(ending.orphan.get()));
  }
  EXPECT_FALSE(os::has_ended(lasting.orphan));
  lasting.end();
  EXPECT_TRUE(is_readable(lasting.orphan.get()));
}

TEST(Guardian, KilledItTakesItsWorkerAlong) {
  GuardedWorker guarded(0);
  ASSERT_EQ(::kill(guarded.fork->guardian(), SIGKILL), 0);
  EXPECT_TRUE(is_readable(guarded.worker.get()));
  ASSERT_TRUE(is_readable(guarded.fork->link()));
  EXPECT_FALSE(guarded.fork->worker_end()) << "it could say nothing";
  EXPECT_LT(guarded.fork->link(), 0);
  EXPECT_TRUE(os::send_signal(guarded.orphan, SIGKILL).is_ok());
}

TEST(Guardian, ItIsAProgramOfItsOwnThatNoSignalToAGroupEnds) {
  GuardedWorker guarded(0);
  EXPECT_EQ(os::command_line(guarded.fork->guardian()), "fray-guardian " + std::to_string(guarded.fork->worker()));
  ASSERT_EQ(::kill(guarded.fork->guardian(), SIGTERM), 0);
  ASSERT_EQ(::kill(guarded.fork->guardian(), SIGINT), 0);
  guarded.end();
  EXPECT_TRUE(is_readable(guarded.fork->link()));
  EXPECT_TRUE(guarded.fork->worker_end()) << "it was there to the end";
}

TEST(Guardian, OneThatCannotBeExecutedIsToldAndItsWorkerEnds) {
  if (kUnderThreadSanitizer) GTEST_SKIP() << "the sanitizer makes a fork of vfork, which waits for no program";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const os::Fd no_program(::open("/dev/null", O_PATH | O_CLOEXEC));
  const auto refused = GuardedFork::make(no_program.get());
  if (refused.is_worker()) {
    while (true) ::pause();
  }
  EXPECT_EQ(refused.status().message(), "the guardian cannot be executed: Permission denied");
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "the worker's end of the pipe closes with it";
  ::close(ends[0]);
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0) << "the guardian";
}

}  // namespace
}  // namespace fray::guardian
