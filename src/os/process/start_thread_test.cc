#include "os/process/start_thread.h"

#include <csignal>

#include <gtest/gtest.h>

namespace fray::os {
namespace {

bool is_blocked(int signal) {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

TEST(StartThread, ThreadTakesNoSignalAndTheCallerGoesOnTakingThem) {
  bool blocked_there = false;
  auto thread = start_thread([&] { blocked_there = is_blocked(SIGINT) && is_blocked(SIGTERM) && is_blocked(SIGCHLD); });
  ASSERT_TRUE(thread.is_ok()) << thread.status().message();
  thread->join();
  EXPECT_TRUE(blocked_there);
  EXPECT_FALSE(is_blocked(SIGINT));
}

TEST(StartThread, MaskOfACallerThatBlocksASignalStaysAsItWas) {
  sigset_t one, before;
  ::sigemptyset(&one);
  ::sigaddset(&one, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &one, &before);
  auto thread = start_thread([] {});
  ASSERT_TRUE(thread.is_ok()) << thread.status().message();
  thread->join();
  EXPECT_TRUE(is_blocked(SIGUSR2));
  EXPECT_FALSE(is_blocked(SIGINT));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace fray::os
