#include "door/start_node.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include "door/door_test_node.h"

namespace fray::door {
namespace {

class StartNodeTest : public HomeTest {
 protected:
  using milliseconds = std::chrono::milliseconds;

  // A program in the place of the node's, which has its arguments; descriptor 3 leads to its starter.
  std::string program(const std::string& text) const {
    const std::string path = home_ + "/program";
    write(path, "#!/bin/sh\n" + text + "\n");
    ::chmod(path.c_str(), 0700);
    return path;
  }
  os::Fd log() const {
    return os::Fd(::open((home_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(home_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Result<nlohmann::json> start_lasting(const std::string& text,
                                       milliseconds patience = std::chrono::seconds(30)) const {
    return start_lasting_node(program(text), {"--further", "a b"}, log(), Patience::of(patience));
  }
};

TEST_F(StartNodeTest, WhatALastingNodeSaysOfItselfComesBackAndItsArgumentsArriveWhole) {
  auto news = start_lasting(R"(printf '%s|' "$@" >&2; echo '{"socket": "/s", "pid": 7}' >&3)");
  ASSERT_TRUE(news.is_ok()) << news.status().message();
  EXPECT_EQ(news->value("pid", 0), 7);
  EXPECT_EQ(text_of("log"), "node|--ready-fd|3|--log-fd|2|--further|a b|");
}

TEST_F(StartNodeTest, ALastingNodeThatFailsSaysWhyOrThatItEnded) {
  auto said = start_lasting(R"(echo '{"error": "no room", "code": "I/O error"}' >&3)");
  EXPECT_EQ(said.status().message(), "the node cannot start: no room");
  EXPECT_EQ(start_lasting("exit 3").status().message(), "the node ended before it was ready");
  EXPECT_EQ(start_lasting("echo nonsense >&3").status().message(), "the node ended before it was ready");
  EXPECT_EQ(start_lasting_node(home_ + "/none", {}, log(), {}).status().code(), StatusCode::kNotFound);
}

TEST_F(StartNodeTest, ALastingNodeThatDoesNotGetReadyIsNotWaitedForWithoutEnd) {
  // What goes on in the background keeps the descriptor open, as a node does that hangs.
  ASSERT_EQ(::mkfifo((home_ + "/fifo").c_str(), 0600), 0);
  auto late = start_lasting("read ever < " + home_ + "/fifo & echo $! > " + home_ + "/pid", milliseconds(50));
  EXPECT_EQ(late.status().code(), StatusCode::kTimedOut);
  pid_t left = 0;
  for (int i = 0; i < 3000 && left == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));  // the program may write it after the time is over
    left = std::atoi(text_of("pid").c_str());
  }
  ASSERT_GT(left, 0);
  ::kill(left, SIGKILL);
}

TEST_F(StartNodeTest, AnEmbeddedNodesFirstClientHasItsSocket) {
  auto node = start_embedded_node(program("printf hello >&3; exit 0"), "{}");
  ASSERT_TRUE(node.is_ok()) << node.status().message();
  EXPECT_EQ(node->starter.exit_code(), 0);
  char text[6]{};
  ASSERT_TRUE(wait_for(node->socket.get(), POLLIN, Patience::of(std::chrono::seconds(30))).is_ok());
  EXPECT_EQ(::read(node->socket.get(), text, 5), 5);
  EXPECT_STREQ(text, "hello");
}

TEST_F(StartNodeTest, AProgramThatEndsOtherwiseIsToldByItsExitCode) {
  EXPECT_EQ(start_embedded_node(program("exit 7"), "{}")->starter.exit_code(), 7);
  EXPECT_EQ(start_embedded_node(program("kill -9 $$"), "{}")->starter.exit_code(), 128 + 9);
  EXPECT_EQ(start_embedded_node(home_ + "/none", "{}").status().code(), StatusCode::kNotFound);
}

TEST_F(StartNodeTest, AProgramThatLetsTheKernelReapItsChildrenMayStartNodes) {
  ::signal(SIGCHLD, SIG_IGN);
  auto node = start_embedded_node(program("exit 7"), "{}");
  const int exit_code = node.is_ok() ? node->starter.exit_code() : -1;
  ::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(exit_code, 0) << "nobody can know it";
}

TEST_F(StartNodeTest, AProgramWithoutStandardDescriptorsMayStartNodes) {
  const std::string path = program("printf hello >&3; exit 0");
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd : {0, 1, 2}) ::close(fd);
    auto node = start_embedded_node(path, "{}");
    char text[5]{};
    const bool heard = node.is_ok() && node->starter.exit_code() == 0 && node->socket.get() >= 0 &&
                       wait_for(node->socket.get(), POLLIN, Patience::of(std::chrono::seconds(30))).is_ok() &&
                       ::read(node->socket.get(), text, 5) == 5;
    ::_exit(heard ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace fray::door
