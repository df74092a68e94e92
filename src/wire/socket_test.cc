#include "wire/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "wire/control.h"
#include "wire/direct.h"
#include "wire/lease.h"

namespace fray::wire {
namespace {

struct Pair {
  FrameSocket left, right;
};

Pair make_pair() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  return {FrameSocket(os::Fd(ends[0])), FrameSocket(os::Fd(ends[1]))};
}

bool same_file(int a, int b) {
  struct stat left {
  }, right{};
  ::fstat(a, &left);
  ::fstat(b, &right);
  return left.st_ino == right.st_ino && left.st_dev == right.st_dev;
}

TEST(FrameSocket, DescriptorsArriveWithTheirFrameAmongOthers) {
  Pair pair = make_pair();
  os::Fd file(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  pair.left.queue(frame(ControlType::kBlocked));
  std::vector<os::Fd> fds;
  fds.emplace_back(::dup(file.get()));
  pair.left.queue(frame(ControlType::kGrant, 5, Grant{}, 1), std::move(fds));
  pair.left.queue(frame(ControlType::kUnblocked));
  ASSERT_TRUE(pair.left.flush().is_ok());

  Incoming incoming;
  std::vector<std::size_t> counts;
  while (counts.size() < 3) {
    ASSERT_TRUE(pair.right.fill().is_ok());
    while (pair.right.next(&incoming).value()) {
      counts.push_back(incoming.fds.size());
      for (const os::Fd& fd : incoming.fds) EXPECT_TRUE(same_file(fd.get(), file.get()));
    }
  }
  EXPECT_EQ(counts, (std::vector<std::size_t>{0, 1, 0}));
}

TEST(FrameSocket, BothSidesMayHaveMoreToSayThanTheKernelTakes) {
  Pair pair = make_pair();
  std::string big(1 << 20, 'x');
  for (FrameSocket* socket : {&pair.left, &pair.right}) {
    for (int i = 0; i < 8; ++i) append_frame(socket->output(), DirectType::kTask, static_cast<std::uint64_t>(i), big);
    ASSERT_TRUE(socket->flush().is_ok());
    EXPECT_TRUE(socket->has_output());
  }
  int received = 0;
  for (int turn = 0; turn < 10'000 && received < 16; ++turn) {
    for (FrameSocket* socket : {&pair.left, &pair.right}) {
      ASSERT_TRUE(socket->flush().is_ok());
      ASSERT_TRUE(socket->fill().is_ok());
      Incoming incoming;
      while (socket->next(&incoming).value()) {
        EXPECT_EQ(incoming.body.size(), big.size());
        ++received;
      }
    }
  }
  EXPECT_EQ(received, 16);
}

TEST(FrameSocket, LargeFrameAmongSmallOnesArrivesAndItsBodyCanBeTaken) {
  Pair pair = make_pair();
  const std::string big(5 << 20, 'x');
  append_frame(pair.left.output(), DirectType::kTask, 1, "before");
  append_frame(pair.left.output(), DirectType::kTask, 2, big);
  append_frame(pair.left.output(), DirectType::kTask, 3, "after");
  append_frame(pair.left.output(), DirectType::kTask, 4, big);
  std::vector<std::pair<std::uint64_t, std::size_t>> received;
  for (int turn = 0; turn < 10'000 && received.size() < 4; ++turn) {
    ASSERT_TRUE(pair.left.flush().is_ok());
    ASSERT_TRUE(pair.right.fill().is_ok());
    Incoming incoming;
    while (pair.right.next(&incoming).value()) {
      const std::string body = pair.right.take_body(incoming);
      EXPECT_TRUE(body.size() < 10 || body == big);
      received.emplace_back(incoming.header.id, body.size());
    }
  }
  EXPECT_EQ(received,
            (std::vector<std::pair<std::uint64_t, std::size_t>>{{1, 6}, {2, big.size()}, {3, 5}, {4, big.size()}}));
}

TEST(FrameSocket, WhatASenderMayPutIntoAMessageIsNeverMoreThanAReaderTakes) {
  for (std::uint64_t store : {std::uint64_t{0}, std::uint64_t{100} << 20, std::uint64_t{1} << 40}) {
    FrameHeader header;
    header.length = static_cast<std::uint32_t>(most_body_bytes(store));
    EXPECT_EQ(header.length, most_body_bytes(store));
    EXPECT_TRUE(validate(header).is_ok());
    EXPECT_GE(most_body_bytes(store), kUsualBodyBytes);
  }
  EXPECT_EQ(most_body_bytes(std::uint64_t{100} << 20), std::uint64_t{100} << 20);
}

TEST(FrameSocket, EndOfThePeerIsUnavailable) {
  Pair pair = make_pair();
  pair.left.close();
  EXPECT_EQ(pair.right.fill().code(), StatusCode::kUnavailable);
}

TEST(FrameSocket, HalfAFrameIsNotDelivered) {
  Pair pair = make_pair();
  std::string whole = frame(ControlType::kReclaim, 0, Reclaim{3});
  pair.left.queue(std::string_view(whole).substr(0, whole.size() - 1));
  ASSERT_TRUE(pair.left.flush().is_ok());
  ASSERT_TRUE(pair.right.fill().is_ok());
  Incoming incoming;
  EXPECT_FALSE(pair.right.next(&incoming).value());
}

TEST(FrameSocket, PromisedDescriptorsThatDidNotComeAreCorruption) {
  Pair pair = make_pair();
  pair.left.queue(frame(ControlType::kGrant, 5, Grant{}, 1));
  ASSERT_TRUE(pair.left.flush().is_ok());
  ASSERT_TRUE(pair.right.fill().is_ok());
  Incoming incoming;
  EXPECT_EQ(pair.right.next(&incoming).status().code(), StatusCode::kCorruption);
}

TEST(FrameSocket, DescriptorsThatNobodyExpectedAreClosed) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  os::Fd reader(ends[0]);
  Pair pair = make_pair();
  std::vector<os::Fd> fds;
  fds.emplace_back(ends[1]);
  pair.left.queue(frame(ControlType::kBlocked), std::move(fds));
  ASSERT_TRUE(pair.left.flush().is_ok());
  ASSERT_TRUE(pair.right.fill().is_ok());
  Incoming incoming;
  ASSERT_TRUE(pair.right.next(&incoming).value());
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);  // the only writer was closed
}

}  // namespace
}  // namespace fray::wire
