#include "client/leases/lease_watch.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/tasks/actor_queue.h"

namespace fray::client {
namespace {

constexpr std::size_t kMany = 3 * LeaseWatch::kFew;

class LeaseWatchTest : public ::testing::Test {
 protected:
  struct Peer {
    Lease lease;
    os::Fd far;
    void say() const { EXPECT_EQ(::write(far.get(), "x", 1), 1); }
    void hear() const {
      char bytes[16];
      EXPECT_GT(::read(lease.socket.fd(), bytes, sizeof(bytes)), 0);
    }
  };

  ~LeaseWatchTest() override {
    for (auto& peer : peers_) sockets_.remove(&peer->lease);
  }

  // A worker with a task, or an actor.
  Peer& make(ActorQueue* actor = nullptr) {
    peers_.push_back(std::make_unique<Peer>());
    Peer& made = *peers_.back();
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    made.lease.socket = wire::FrameSocket(os::Fd(ends[0]));
    made.far = os::Fd(ends[1]);
    made.lease.actor = actor;
    if (actor == nullptr) made.lease.sent.push_back(nullptr);
    return made;
  }
  void add(std::size_t count) {
    while (peers_.size() < count) sockets_.add(&make().lease);
  }
  // What a thread sleeps on, and whether it would wake up.
  std::size_t watched() {
    set_.clear();
    sockets_.watch_busy(set_);
    return set_.size();
  }
  bool would_wake() {
    watched();
    return ::poll(set_.data(), set_.size(), 0) > 0;
  }
  std::multiset<Lease*> read() {
    std::multiset<Lease*> seen;
    sockets_.read_all([&](Lease* lease) {
      seen.insert(lease);
      char bytes[16];
      if (::read(lease->socket.fd(), bytes, sizeof(bytes)) == 0) end(lease);
    });
    return seen;
  }
  void end(Lease* lease) {
    lease->dead = true;
    sockets_.let_go(lease);
    lease->socket.close();
  }
  void drop(std::size_t place) {
    sockets_.remove(&peers_[place]->lease);
    peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  ActorQueue actor_;
  LeaseWatch sockets_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<pollfd> set_;
};

TEST_F(LeaseWatchTest, FewAreSleptOnOneByOneAndManyByOneDescriptor) {
  add(LeaseWatch::kFew);
  EXPECT_EQ(watched(), LeaseWatch::kFew);
  const std::uint64_t before = sockets_.version();
  add(kMany);
  EXPECT_EQ(watched(), 1u);
  EXPECT_GT(sockets_.version(), before);  // who sleeps on the first is to look again
  while (peers_.size() > LeaseWatch::kFew) drop(0);
  EXPECT_EQ(watched(), LeaseWatch::kFew);
}

TEST_F(LeaseWatchTest, OfManyOnlyThoseAreReadThatHaveSaidSomething) {
  add(kMany);
  EXPECT_FALSE(would_wake());
  EXPECT_TRUE(read().empty());
  for (std::size_t place : {0ul, kMany / 2, kMany - 1}) {
    peers_[place]->say();
    EXPECT_TRUE(would_wake());
    EXPECT_EQ(read(), std::multiset<Lease*>{&peers_[place]->lease});
    EXPECT_FALSE(would_wake());
  }
}

TEST_F(LeaseWatchTest, OneReadSeesAllOfManyHundreds) {
  add(300);
  for (auto& peer : peers_) peer->say();
  const auto seen = read();
  for (auto& peer : peers_) EXPECT_TRUE(seen.contains(&peer->lease));
  EXPECT_FALSE(would_wake());
}

TEST_F(LeaseWatchTest, AReadMayRemoveOthersThatAreReadyToo) {
  add(kMany);
  for (auto& peer : peers_) peer->say();
  std::size_t reads = 0;
  sockets_.read_all([&](Lease* lease) {
    ++reads;
    const auto other = std::find_if(peers_.begin(), peers_.end(), [&](auto& each) { return &each->lease != lease; });
    if (other != peers_.end()) drop(static_cast<std::size_t>(other - peers_.begin()));
  });
  EXPECT_GE(reads, kMany / 2);
  EXPECT_LE(peers_.size(), kMany / 2);
}

TEST_F(LeaseWatchTest, TheEndOfOneOfManyIsSeenOnce) {
  add(kMany);
  peers_[3]->far.reset();
  EXPECT_EQ(read().count(&peers_[3]->lease), 1u);
  EXPECT_FALSE(would_wake());
  EXPECT_TRUE(read().empty());
}

TEST_F(LeaseWatchTest, IdleActorsWakeNobodyAndAreHeardAgainWhenAnAnswerIsDue) {
  add(kMany);
  Peer& actor = make(&actor_);
  sockets_.add(&actor.lease);
  actor.say();
  EXPECT_TRUE(read().empty());
  EXPECT_FALSE(would_wake());
  actor.lease.sent.push_back(nullptr);
  sockets_.expect(&actor.lease);
  EXPECT_TRUE(would_wake());
  EXPECT_EQ(read(), std::multiset<Lease*>{&actor.lease});
}

// It may be the answer to a question from before it was idle. Unread it would end each sleep at once.
TEST_F(LeaseWatchTest, AnIdleWorkerOfFewThatSpeaksWakesASleeperOnce) {
  Peer& worker = make();
  worker.lease.sent.clear();
  sockets_.add(&worker.lease);
  const auto wakes_a_leader = [this] {
    set_.clear();
    sockets_.watch(set_);
    return ::poll(set_.data(), set_.size(), 0) > 0;
  };
  worker.say();
  sockets_.read_busy([](Lease*) { ADD_FAILURE() << "no answer is due"; });
  EXPECT_TRUE(wakes_a_leader());
  EXPECT_EQ(read(), std::multiset<Lease*>{&worker.lease});
  EXPECT_FALSE(wakes_a_leader());
}

TEST_F(LeaseWatchTest, ACallToAnIdleActorOfFewIsToldToThoseWhoSleep) {
  Peer& actor = make(&actor_);
  sockets_.add(&actor.lease);
  EXPECT_EQ(watched(), 0u);
  const std::uint64_t before = sockets_.version();
  actor.lease.sent.push_back(nullptr);
  sockets_.expect(&actor.lease);
  EXPECT_GT(sockets_.version(), before);
  EXPECT_EQ(watched(), 1u);
}

// A forked child has the same sockets and the same set; what it closes must not be missed in the parent.
TEST_F(LeaseWatchTest, AChildThatAbandonsItsCopyLeavesTheParentListening) {
  add(kMany);
  const pid_t child = ::fork();
  if (child == 0) {
    sockets_.abandon();
    for (auto& peer : peers_) {
      peer->lease.socket.close();
      sockets_.remove(&peer->lease);
    }
    ::_exit(sockets_.all().empty() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  peers_[1]->say();
  EXPECT_TRUE(would_wake());
  EXPECT_EQ(read(), std::multiset<Lease*>{&peers_[1]->lease});
}

// A child that was forked without a word keeps the sockets open; those that the parent has closed must not be told of.
TEST_F(LeaseWatchTest, ASocketThatAChildStillHasIsForgottenWhenItIsRemoved) {
  add(kMany);
  int hold[2];
  ASSERT_EQ(::pipe(hold), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(hold[1]);
    char byte = 0;
    ::_exit(static_cast<int>(::read(hold[0], &byte, 1)));
  }
  os::Fd far = std::move(peers_[0]->far);
  drop(0);
  EXPECT_EQ(::write(far.get(), "x", 1), 1);
  EXPECT_FALSE(would_wake());
  EXPECT_TRUE(read().empty());
  ::close(hold[0]);
  ::close(hold[1]);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
}

TEST_F(LeaseWatchTest, WithoutADescriptorForTheSetAllAreSleptOnOneByOne) {
  add(LeaseWatch::kFew);
  Peer& next = make();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockets_.add(&next.lease);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(watched(), LeaseWatch::kFew + 1);
  next.say();
  EXPECT_TRUE(would_wake());
  EXPECT_TRUE(read().contains(&next.lease));
}

}  // namespace
}  // namespace fray::client
