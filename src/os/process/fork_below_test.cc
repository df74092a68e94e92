#include "os/process/fork_below.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"

namespace fray::os {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends = {};
    EXPECT_EQ(::pipe(ends.data()), 0);
    out = Fd(ends[0]);
    in = Fd(ends[1]);
  }
  // What is written until all have closed the other end.
  std::string read_all() {
    in.reset();
    std::string text;
    std::array<char, 256> piece;
    for (ssize_t got; (got = ::read(out.get(), piece.data(), piece.size())) > 0;) {
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return text;
  }
  Fd out;
  Fd in;
};

// Says in the copy what it is, and ends it.
[[noreturn]] void tell(const Pipe& pipe, const std::string& text) {
  const ssize_t written = ::write(pipe.in.get(), text.data(), text.size());
  ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

TEST(ForkBelow, TheProgramIsNobodysChildAndTheParentOfTheCopy) {
  Pipe program;
  Pipe copy;
  // It stays until the copy has ended, which then still has its parent.
  const std::string script =
      R"sh(echo "$$ $0 $(cut -d' ' -f4,6 /proc/$$/stat)" >&3; exec 3>&-
           while [ -d /proc/$0 ] && ! grep -q 'State:.Z' /proc/$0/status; do :; done)sh";
  Result<Forked> forked = fork_below({{"/bin/sh", "-c", script}, {program.in.get()}});
  ASSERT_TRUE(forked.is_ok());
  if (*forked == Forked::kCopy) {
    const pid_t session = ::getsid(0);
    tell(copy, std::to_string(::getpid()) + " " + std::to_string(::getppid()) + " " + std::to_string(session));
  }
  EXPECT_FALSE(has_children());
  const std::string of_copy = copy.read_all();
  const std::string of_program = program.read_all();
  long self = 0, child = 0, parent = 0, session = 0, copy_self = 0, copy_parent = 0, copy_session = 0;
  ASSERT_EQ(std::sscanf(of_program.c_str(), "%ld %ld %ld %ld", &self, &child, &parent, &session), 4) << of_program;
  ASSERT_EQ(std::sscanf(of_copy.c_str(), "%ld %ld %ld", &copy_self, &copy_parent, &copy_session), 3) << of_copy;
  EXPECT_EQ(child, copy_self);
  EXPECT_EQ(copy_parent, self);
  EXPECT_NE(parent, ::getpid());
  EXPECT_EQ(session, self);
  EXPECT_EQ(copy_session, self);
}

TEST(ForkBelow, TheProgramHasItsDescriptorsInOrderAndDefaultsForSignals) {
  Pipe first;
  Pipe second;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  ::signal(SIGTERM, SIG_IGN);
  const std::string script = "echo one >&3; echo two >&4; grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2 >&3";
  // The numbers are taken crosswise: what is to be 3 may be where 4 is to come from.
  Result<Forked> forked = fork_below({{"/bin/sh", "-c", script}, {second.in.get(), first.in.get()}});
  ASSERT_TRUE(forked.is_ok());
  if (*forked == Forked::kCopy) ::_exit(0);
  ::signal(SIGTERM, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  const std::string told = second.read_all();
  unsigned long blocked = 1, ignored = 0;
  ASSERT_EQ(std::sscanf(told.c_str(), "one\n%lx\n%lx", &blocked, &ignored), 2) << told;
  EXPECT_EQ(blocked, 0u);
  EXPECT_EQ(ignored & (1UL << (SIGTERM - 1)), 0u);  // others, of the C library alone, may have been ignored all along
  EXPECT_EQ(first.read_all(), "two\n");
}

TEST(ForkBelow, AProgramThatCannotBeExecutedIsNamedAsTheReason) {
  Pipe pipe;
  Result<Forked> forked = fork_below({{"/nowhere/program"}, {pipe.in.get()}});
  if (forked.is_ok()) tell(pipe, "the copy");  // this process must not be here
  EXPECT_NE(forked.status().message().find("executing the program"), std::string::npos) << forked.status().message();
  EXPECT_NE(forked.status().message().find("No such file"), std::string::npos) << forked.status().message();
  EXPECT_FALSE(has_children());
  EXPECT_EQ(pipe.read_all(), "the copy");
}

// Faults are read once in a process, so the test runs its own program with one.
TEST(ForkBelow, AForkThatIsRefusedIsNamedAsTheReason) {
#ifdef NDEBUG
  GTEST_SKIP() << "faults are compiled in where asserts are";
#endif
  if (std::getenv("FRAY_FAULT") == nullptr) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("FRAY_FAULT", "fork_below:1", 1);
      ::execl("/proc/self/exe", "os_test", "--gtest_filter=ForkBelow.AForkThatIsRefusedIsNamedAsTheReason", nullptr);
      ::_exit(127);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return;
  }
  Result<Forked> refused = fork_below({{"/bin/true"}, {}});
  ASSERT_FALSE(refused.is_ok());
  EXPECT_NE(refused.status().message().find("the fork: Resource temporarily unavailable"), std::string::npos)
      << refused.status().message();
  EXPECT_FALSE(has_children());
  Result<Forked> later = fork_below({{"/bin/true"}, {}});
  ASSERT_TRUE(later.is_ok());
  if (*later == Forked::kCopy) ::_exit(0);
}

TEST(ForkBelow, TheCopyHasItsOwnMemory) {
  Pipe pipe;
  std::string text = "before";
  Result<Forked> forked = fork_below({{"/bin/true"}, {}});
  ASSERT_TRUE(forked.is_ok());
  if (*forked == Forked::kCopy) {
    text += ", changed in the copy";
    tell(pipe, text);
  }
  EXPECT_EQ(pipe.read_all(), "before, changed in the copy");
  EXPECT_EQ(text, "before");
}

}  // namespace
}  // namespace fray::os
