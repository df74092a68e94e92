#include "os/process/process_facts.h"

#include <csignal>
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitized.h"

namespace fray::os {
namespace {

constexpr std::size_t kBytes = 32u << 20;

// A child that says when it is ready and then waits to be killed.
class Child {
 public:
  template <typename Work>
  explicit Child(Work work) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      work();
      if (::write(ends[1], "x", 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    char word = 0;
    EXPECT_EQ(::read(ends[0], &word, 1), 1);
    for (int end : ends) ::close(end);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

void touch_private() {
  std::memset(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, kBytes);
}

TEST(ProcessFacts, OnlyAStoppedProcessIsStopped) {
  Child child([] {});
  EXPECT_FALSE(is_stopped(child.pid()));
  ::kill(child.pid(), SIGSTOP);
  ASSERT_EQ(::waitpid(child.pid(), nullptr, WUNTRACED), child.pid());
  EXPECT_TRUE(is_stopped(child.pid()));
  ::kill(child.pid(), SIGCONT);
  ASSERT_EQ(::waitpid(child.pid(), nullptr, WCONTINUED), child.pid());
  EXPECT_FALSE(is_stopped(child.pid()));
}

TEST(ProcessFacts, AProgramIsFoundBesideTheOneThatAProcessRuns) {
  Child child([] {});
  EXPECT_EQ(program_beside(child.pid(), "os_test"), std::filesystem::read_symlink("/proc/self/exe"));
  const pid_t ended = -1;
  EXPECT_EQ(program_beside(ended, "fray-guardian"), "fray-guardian");
}

TEST(ProcessFacts, MemoryIsWhatTheProcessAndItsChildrenTouchedThemselves) {
  Child plain([] {});
  Child large(touch_private);
  std::uint64_t before = private_memory_bytes(plain.pid());
  EXPECT_GE(private_memory_bytes(large.pid()), before + kBytes / 2);
  Child parent([] {
    static Child* child = new Child(touch_private);
    (void)child;
  });
  EXPECT_GE(private_memory_bytes(parent.pid()), before + kBytes / 2);
}

TEST(ProcessFacts, SharedMemoryIsNotCounted) {
  if (kUnderThreadSanitizer) GTEST_SKIP() << "the sanitizer's shadow of it is the process's own";
  Child plain([] {});
  Child shared([] {
    std::memset(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, kBytes);
  });
  EXPECT_LT(private_memory_bytes(shared.pid()), private_memory_bytes(plain.pid()) + kBytes / 2);
}

TEST(ProcessFacts, PagesThatAForkSharesAreCountedOnceInProportion) {
  if (kUnderThreadSanitizer) GTEST_SKIP() << "the sanitizer writes to its shadow in both processes";
  Child parent([] {
    touch_private();
    static Child* child = new Child([] {});
    (void)child;
  });
  EXPECT_GE(private_memory_bytes(parent.pid()), 2 * kBytes);
  std::uint64_t proportional = proportional_memory_bytes(parent.pid());
  EXPECT_GE(proportional, kBytes);
  EXPECT_LT(proportional, kBytes + kBytes / 2);
}

TEST(ProcessFacts, AProcessThatIsGoneIsNothing) {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  EXPECT_FALSE(is_stopped(pid));
  EXPECT_EQ(private_memory_bytes(pid), 0u);
}

}  // namespace
}  // namespace fray::os
