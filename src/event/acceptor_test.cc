#include "event/acceptor.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/sockets/listener.h"

namespace fray::event {
namespace {

using std::chrono::milliseconds;

// Until its end this process gets no further descriptor.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const os::Fd lowest(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(lowest.get());
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

struct Door {
  std::string path = std::filesystem::temp_directory_path().string() + "/acceptor-test-" + std::to_string(::getpid());
  std::unique_ptr<Loop> loop = Loop::create().value();
  os::Listener listener = os::Listener::listen(path).value();
  std::vector<os::Fd> accepted;
  int shortages = 0;
  Acceptor acceptor{*loop};

  Door() {
    EXPECT_TRUE(acceptor
                    .start(
                        listener.fd(), [this](os::Fd socket) { accepted.push_back(std::move(socket)); },
                        [this] { ++shortages; })
                    .is_ok());
  }
  // How many rounds with something to do there were.
  int turn(milliseconds time) {
    const auto end = Loop::Clock::now() + time;
    int rounds = 0;
    for (; Loop::Clock::now() < end; ++rounds) {
      loop->run_once(std::chrono::ceil<milliseconds>(end - Loop::Clock::now()));
    }
    return rounds;
  }
};

TEST(Acceptor, AllWhoWaitAreHandedOn) {
  Door door;
  std::vector<os::Fd> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(os::connect_to(door.path).value());
  while (door.accepted.size() < clients.size()) door.loop->run_once(milliseconds(1000));
  EXPECT_EQ(door.accepted.size(), 40u);
  EXPECT_EQ(door.shortages, 0);
}

TEST(Acceptor, WithoutDescriptorsItRestsAndThoseWhoWaitAreServedLater) {
  Door door;
  const os::Fd client = os::connect_to(door.path).value();
  {
    const NoDescriptors none;
    const auto begin = Loop::Clock::now();
    int rounds = 0;
    for (; door.shortages < 3; ++rounds) door.loop->run_once(milliseconds(1000));
    EXPECT_GE(Loop::Clock::now() - begin, 2 * Acceptor::kPause);
    EXPECT_LE(rounds, 6);  // two a pause: the attempt, and its timer
    EXPECT_TRUE(door.accepted.empty());
  }
  while (door.accepted.empty()) door.loop->run_once(milliseconds(1000));
  EXPECT_EQ(::write(client.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(door.accepted.front().get(), &byte, 1), 1);
}

TEST(Acceptor, WhoLeavesWhileThereAreNoDescriptorsLeavesNothingToDo) {
  Door door;
  {
    const os::Fd client = os::connect_to(door.path).value();
    const NoDescriptors none;
    door.turn(milliseconds(20));
  }
  const int rounds = door.turn(milliseconds(350));
  EXPECT_LE(rounds, 12);
  EXPECT_LE(door.accepted.size(), 1u);
}

TEST(Acceptor, WhatTheOwnerClosesInAShortageMakesRoom) {
  auto loop = Loop::create().value();
  const std::string path =
      std::filesystem::temp_directory_path().string() + "/acceptor-room-" + std::to_string(::getpid());
  os::Listener listener = os::Listener::listen(path).value();
  os::Fd spare(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const os::Fd client = os::connect_to(path).value();
  int accepted = 0;
  const NoDescriptors none;
  Acceptor acceptor(*loop);
  ASSERT_TRUE(acceptor
                  .start(
                      listener.fd(), [&](const os::Fd&) { ++accepted; }, [&] { spare.reset(); })
                  .is_ok());
  while (accepted == 0) loop->run_once(milliseconds(1000));
  EXPECT_FALSE(spare.is_open());
}

TEST(Acceptor, EndedInItsPauseItTouchesTheListenerNoMore) {
  Door door;
  const os::Fd client = os::connect_to(door.path).value();
  int accepted = 0;
  {
    os::Listener listener = os::Listener::listen(door.path + "-other").value();
    Acceptor other(*door.loop);
    const os::Fd waiting = os::connect_to(listener.path()).value();
    const NoDescriptors none;
    ASSERT_TRUE(other.start(listener.fd(), [&](const os::Fd&) { ++accepted; }).is_ok());
    door.turn(milliseconds(10));
  }
  door.turn(Acceptor::kPause * 2);
  while (door.accepted.empty()) door.loop->run_once(milliseconds(1000));
  EXPECT_EQ(accepted, 0);
  EXPECT_EQ(door.accepted.size(), 1u);
}

}  // namespace
}  // namespace fray::event
