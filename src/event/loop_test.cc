#include "event/loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "os/sockets/socket_pair.h"

namespace fray::event {
namespace {

using std::chrono::milliseconds;

struct Pair {
  os::Fd near;
  os::Fd far;
  Pair() {
    auto ends = os::make_socket_pair().value();
    near = std::move(ends.first);
    far = std::move(ends.second);
  }
  void write() { EXPECT_EQ(::write(far.get(), "x", 1), 1); }
  void read() {
    char byte;
    EXPECT_EQ(::read(near.get(), &byte, 1), 1);
  }
};

TEST(Loop, ReadableDescriptorIsReportedUntilItIsRead) {
  auto loop = Loop::create().value();
  Pair pair;
  int calls = 0;
  ASSERT_TRUE(loop->add(pair.near.get(), EPOLLIN, [&](std::uint32_t) { ++calls; }).is_ok());
  pair.write();
  loop->run_once(milliseconds(1000));
  loop->run_once(milliseconds(1000));
  EXPECT_EQ(calls, 2);
  pair.read();
  loop->run_once(milliseconds(0));
  EXPECT_EQ(calls, 2);
}

TEST(Loop, CallbackMayRemoveItselfAndOthersOfTheSameRound) {
  auto loop = Loop::create().value();
  Pair first;
  Pair second;
  int calls = 0;
  auto remove_both = [&](std::uint32_t) {
    ++calls;
    loop->remove(first.near.get());
    loop->remove(second.near.get());
  };
  ASSERT_TRUE(loop->add(first.near.get(), EPOLLIN, remove_both).is_ok());
  ASSERT_TRUE(loop->add(second.near.get(), EPOLLIN, remove_both).is_ok());
  first.write();
  second.write();
  loop->run_once(milliseconds(1000));
  EXPECT_EQ(calls, 1);
}

TEST(Loop, RoundIsCompleteUnlessACallbackLeftSomething) {
  auto loop = Loop::create().value();
  Pair pair;
  bool leave = true;
  std::vector<bool> rounds;
  loop->set_round_hook([&](bool complete) { rounds.push_back(complete); });
  ASSERT_TRUE(loop->add(pair.near.get(), EPOLLIN,
                        [&](std::uint32_t) {
                          if (leave) loop->leave_rest();
                        })
                  .is_ok());
  pair.write();
  loop->run_once(milliseconds(1000));
  leave = false;
  loop->run_once(milliseconds(1000));
  EXPECT_EQ(rounds, (std::vector<bool>{false, true}));
}

TEST(Loop, RequestedRoundFollowsAtOnce) {
  auto loop = Loop::create().value();
  int rounds = 0;
  loop->set_round_hook([&](bool) {
    if (++rounds == 1) loop->request_round();
    if (rounds == 2) loop->stop();
  });
  loop->after(milliseconds(0), [] {});
  loop->run();
  EXPECT_EQ(rounds, 2);
}

TEST(Loop, TimersFireInOrderAndCancelledOnesDoNot) {
  auto loop = Loop::create().value();
  std::vector<int> fired;
  loop->after(milliseconds(4), [&] {
    fired.push_back(2);
    loop->stop();
  });
  loop->after(milliseconds(1), [&] { fired.push_back(1); });
  TimerId cancelled = loop->after(milliseconds(2), [&] { fired.push_back(3); });
  loop->cancel(cancelled);
  loop->run();
  EXPECT_EQ(fired, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace fray::event
