#include "os/process/thread_rest.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "os/fd.h"

namespace fray::os {
namespace {

using namespace std::chrono_literals;

class ThreadRestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::ifstream("/proc/self/syscall").peek() == EOF)
      GTEST_SKIP() << "the kernel does not say where threads sleep";
    if (kUnderThreadSanitizer) GTEST_SKIP() << "the sanitizer has a thread of its own, which sleeps for a time";
  }
};

// A thread that is let go at the end of the test.
class RestingThread {
 public:
  RestingThread() : thread_([this] { run(); }) {}
  ~RestingThread() {
    end();
    join();
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  void end() {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;
};

// Threads take a moment to fall asleep.
bool rests_soon(const ThreadRest& rest) {
  for (int i = 0; i < 20'000; ++i) {
    if (all_threads_rest(rest)) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

bool never_rests(const ThreadRest& rest) {
  for (int i = 0; i < 50; ++i) {
    if (all_threads_rest(rest)) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

ThreadRest seen_by_this_thread() {
  ThreadRest rest;
  rest.ignored = {::gettid()};
  return rest;
}

// A thread that sleeps in `wait` until `end` makes it go on.
void with_thread(const std::function<void()>& wait, const std::function<void()>& end,
                 const std::function<void()>& look) {
  std::thread thread(wait);
  look();
  end();
  thread.join();
}

TEST_F(ThreadRestTest, SleepsForConditionsAndJoinsAreWokenByThisProcessAlone) {
  RestingThread sleeper;
  EXPECT_TRUE(rests_soon(seen_by_this_thread()));
  RestingThread joined;
  with_thread([&] { joined.join(); }, [&] { joined.end(); }, [] { EXPECT_TRUE(rests_soon(seen_by_this_thread())); });
}

TEST_F(ThreadRestTest, AThreadThatSleepsForATimeGoesOnByItself) {
  RestingThread sleeper;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  with_thread(
      [&] {
        std::unique_lock lock(mutex);
        changed.wait_for(lock, 1h, [&] { return ended; });
      },
      [&] {
        std::lock_guard lock(mutex);
        ended = true;
        changed.notify_all();
      },
      [] { EXPECT_TRUE(never_rests(seen_by_this_thread())); });
}

TEST_F(ThreadRestTest, ARunningThreadDoesNotRest) {
  std::atomic<bool> ended{false};
  with_thread(
      [&] {
        while (!ended) {
        }
      },
      [&] { ended = true; }, [] { EXPECT_TRUE(never_rests(seen_by_this_thread())); });
}

TEST_F(ThreadRestTest, AReadOfAPipeMayBeEndedByOthers) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  char word = 0;
  with_thread([&] { EXPECT_EQ(::read(ends[0], &word, 1), 1); }, [&] { EXPECT_EQ(::write(ends[1], "x", 1), 1); },
              [] { EXPECT_TRUE(never_rests(seen_by_this_thread())); });
  for (int end : ends) ::close(end);
}

TEST_F(ThreadRestTest, AnEventLoopRestsWhenOnlyThisProcessWakesIt) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  Fd queue(::eventfd(0, EFD_CLOEXEC));
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  Fd wakes(sockets[0]);
  Fd other(sockets[1]);
  for (int fd : {queue.get(), wakes.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    ASSERT_EQ(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event), 0);
  }
  epoll_event event{};
  with_thread([&] { EXPECT_EQ(::epoll_wait(epoll.get(), &event, 1, -1), 1); },
              [&] { EXPECT_EQ(::write(other.get(), "x", 1), 1); },
              [&] {
                ThreadRest rest = seen_by_this_thread();
                EXPECT_TRUE(never_rests(rest));
                rest.own_descriptors = {queue.get()};
                EXPECT_TRUE(never_rests(rest)) << "anybody may have the other end of a socket";
                note_own_socket(wakes.get());
                EXPECT_TRUE(rests_soon(rest));
                rest.own_descriptors.clear();
                EXPECT_TRUE(never_rests(rest));
              });
}

TEST_F(ThreadRestTest, AnAlarmOrAHandlerOfChildrensEndsMayWakeAnybody) {
  RestingThread sleeper;
  ASSERT_TRUE(rests_soon(seen_by_this_thread()));
  itimerval alarm{};
  alarm.it_value.tv_sec = 3600;
  ASSERT_EQ(::setitimer(ITIMER_REAL, &alarm, nullptr), 0);
  EXPECT_FALSE(all_threads_rest(seen_by_this_thread()));
  alarm.it_value.tv_sec = 0;
  ASSERT_EQ(::setitimer(ITIMER_REAL, &alarm, nullptr), 0);
  EXPECT_TRUE(rests_soon(seen_by_this_thread()));
  struct sigaction before {};
  struct sigaction handler {};
  handler.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGCHLD, &handler, &before), 0);
  EXPECT_FALSE(all_threads_rest(seen_by_this_thread()));
  ASSERT_EQ(::sigaction(SIGCHLD, &before, nullptr), 0);
}

}  // namespace
}  // namespace fray::os
