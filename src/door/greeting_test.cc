#include "door/greeting.h"

#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/sockets/socket_pair.h"

namespace fray::door {
namespace {

using namespace std::chrono_literals;

std::string read_to_the_end(const os::Fd& socket) {
  std::string text;
  char piece[256];
  while (true) {
    const ssize_t bytes = ::recv(socket.get(), piece, sizeof(piece), 0);
    if (bytes <= 0) return text;
    text.append(piece, static_cast<std::size_t>(bytes));
  }
}

TEST(TakeLeave, WhatWasSentBeforeArrivesAndTheNodeIsHeardOut) {
  auto ends = os::make_socket_pair().value();
  ASSERT_EQ(::send(ends.first.get(), "last words", 10, 0), 10);
  std::string heard;
  std::thread node([&] {
    heard = read_to_the_end(ends.second);
    for (int piece = 0; piece < 100; ++piece) ::send(ends.second.get(), std::string(10'000, 'x').data(), 10'000, 0);
    ends.second.reset();
  });
  take_leave(ends.first, Patience::of(30s));
  node.join();
  EXPECT_EQ(heard, "last words");
  char more = 0;
  EXPECT_EQ(::recv(ends.first.get(), &more, 1, MSG_DONTWAIT), 0);
}

TEST(TakeLeave, ANodeThatDoesNotHangUpIsNotWaitedForWithoutEnd) {
  auto ends = os::make_socket_pair().value();
  ASSERT_EQ(::send(ends.second.get(), "still here", 10, 0), 10);
  take_leave(ends.first, Patience::of(20ms));
  EXPECT_EQ(read_to_the_end(ends.second), "");
}

TEST(TakeLeave, ANodeThatHasGoneIsNotWaitedFor) {
  auto ends = os::make_socket_pair().value();
  ends.second.reset();
  take_leave(ends.first, Patience{});
}

}  // namespace
}  // namespace fray::door
