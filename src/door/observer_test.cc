#include "door/observer.h"

#include <atomic>
#include <barrier>
#include <csignal>
#include <memory>
#include <semaphore>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "door/door_test_node.h"

namespace fray::door {
namespace {

using std::chrono::milliseconds;
using wire::ControlType;

class ObserverTest : public HomeTest {
 protected:
  std::string path() const { return socket_at(home_ + "/n"); }
  static void reply(wire::FrameSocket& client, std::uint64_t ticket, const std::string& text) {
    client.queue(wire::frame(ControlType::kStatusReply, ticket, wire::Text{StatusCode::kOk, text}));
    FRAY_CHECK(client.flush().is_ok(), "the test's node");
  }
  // Answers each question about the status with how many there were.
  static void count(wire::FrameSocket& client) {
    ScriptedNode::welcome(client);
    for (int number = 1;; ++number) {
      auto frame = next_frame(client, Patience::of(std::chrono::seconds(30)));
      if (!frame.is_ok()) return;
      reply(client, frame->header.id, std::to_string(number));
    }
  }
  static Patience soon() { return Patience::of(milliseconds(50)); }
  static Patience long_enough() { return Patience::of(std::chrono::seconds(30)); }
};

TEST_F(ObserverTest, QuestionsOneAfterTheOtherShareAConnection) {
  ScriptedNode node(path(), count);
  {
    Observer observer(path());
    EXPECT_EQ(observer.status(long_enough()).value(), "1");
    EXPECT_EQ(observer.status(long_enough()).value(), "2");
  }
  EXPECT_EQ(Observer(path()).status(long_enough()).value(), "1");
}

TEST_F(ObserverTest, ANodeThatSaysNothingIsWaitedForNoLongerThanTheDeadline) {
  ScriptedNode silent(path(), ScriptedNode::await_end);
  const Status said = Observer(path()).status(soon()).status();
  EXPECT_EQ(said.code(), StatusCode::kTimedOut);
  EXPECT_NE(said.message().find(path()), std::string::npos) << said.message();
}

TEST_F(ObserverTest, AQuestionThatIsWithdrawnTakesItsConnectionAlong) {
  std::counting_semaphore<2> ended(0);
  ScriptedNode node(path(), [&](wire::FrameSocket& client) {
    ScriptedNode::welcome(client);
    ScriptedNode::await_end(client);
    ended.release();
  });
  Observer observer(path());
  for (int question = 0; question < 2; ++question) {
    EXPECT_EQ(observer.status(soon()).status().code(), StatusCode::kTimedOut);
    EXPECT_TRUE(ended.try_acquire_for(std::chrono::seconds(30)));
  }
}

TEST_F(ObserverTest, AnInterruptEndsTheWaitAtOnce) {
  ScriptedNode node(path(), [](wire::FrameSocket& client) {
    ScriptedNode::welcome(client);
    ScriptedNode::await_end(client);
  });
  struct sigaction action {};
  action.sa_handler = [](int) {};
  struct sigaction before {};
  ::sigaction(SIGUSR1, &action, &before);
  std::atomic<bool> asked{false};
  const pthread_t self = ::pthread_self();
  Patience patience = long_enough();
  patience.interrupted = [&] { return asked.load(); };
  std::thread user([&] {
    asked = true;
    ::pthread_kill(self, SIGUSR1);
  });
  EXPECT_EQ(Observer(path()).status(patience).status().code(), StatusCode::kCancelled);
  user.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(ObserverTest, ANodeThatDiesInTheHelloOrInAQuestionIsGone) {
  std::atomic<bool> welcomes{false};
  ScriptedNode node(path(), [&](wire::FrameSocket& client) {
    if (!welcomes) return;
    ScriptedNode::welcome(client);
    ScriptedNode::read(client);
  });
  EXPECT_EQ(Observer(path()).status(long_enough()).status().code(), StatusCode::kUnavailable);
  welcomes = true;
  const Status said = Observer(path()).status(long_enough()).status();
  EXPECT_EQ(said.code(), StatusCode::kUnavailable);
  EXPECT_EQ(said.message(), "the node went away");
}

TEST_F(ObserverTest, ANodeThatEndsBetweenTwoQuestionsWentAway) {
  auto node = std::make_unique<ScriptedNode>(path(), [](wire::FrameSocket& client) {
    ScriptedNode::welcome(client);
    reply(client, ScriptedNode::read(client).header.id, "once");
  });
  Observer observer(path());
  EXPECT_EQ(observer.status(long_enough()).value(), "once");
  node.reset();
  const Status said = observer.status(long_enough()).status();
  EXPECT_EQ(said.code(), StatusCode::kUnavailable);
  EXPECT_EQ(said.message(), "the node went away");
}

TEST_F(ObserverTest, AConnectionThatTheNodeHasClosedIsNotUsedAgain) {
  std::binary_semaphore closed(0);
  ScriptedNode node(path(), [&](wire::FrameSocket& client) {
    ScriptedNode::welcome(client);
    reply(client, ScriptedNode::read(client).header.id, "once");
    client.close();
    closed.release();
  });
  Observer observer(path());
  EXPECT_EQ(observer.status(long_enough()).value(), "once");
  ASSERT_TRUE(closed.try_acquire_for(std::chrono::seconds(30)));
  EXPECT_EQ(observer.status(long_enough()).value(), "once");
}

TEST_F(ObserverTest, ARefusalIsSaidInTheNodesWordsAlsoWhenItHangsUpAtOnce) {
  ScriptedNode node(path(), [](wire::FrameSocket& client) {
    client.queue(wire::frame(ControlType::kRefused, 0, wire::Text{StatusCode::kVersionMismatch, "client 1, node 2"}));
    FRAY_CHECK(client.flush().is_ok(), "the test's node");
  });
  const Status said = Observer(path()).status(long_enough()).status();
  EXPECT_EQ(said.code(), StatusCode::kVersionMismatch);
  EXPECT_NE(said.message().find("client 1, node 2"), std::string::npos) << said.message();
}

TEST_F(ObserverTest, ANodeOfAnotherReleaseThatHangsUpIsExplainedByWhatItWroteDown) {
  ScriptedNode node(path(), [](wire::FrameSocket&) {});
  EXPECT_EQ(Observer(path()).status(long_enough()).status().code(), StatusCode::kUnavailable);
  write(home_ + "/n/node.json", R"({"release": "9.9.9"})");
  const Status said = Observer(path()).status(long_enough()).status();
  EXPECT_EQ(said.code(), StatusCode::kVersionMismatch);
  EXPECT_NE(said.message().find("9.9.9"), std::string::npos) << said.message();
}

TEST_F(ObserverTest, WhoSpeaksAnotherLanguageIsNoNode) {
  ScriptedNode garbage(path(), [](wire::FrameSocket& client) {
    client.output() += "HTTP/1.1 400 Bad Request\r\n\r\n";
    FRAY_CHECK(client.flush().is_ok(), "the test's node");
  });
  EXPECT_EQ(Observer(path()).status(long_enough()).status().code(), StatusCode::kCorruption);
}

TEST_F(ObserverTest, NobodyAndAStaleSocketAreToldWithTheRemedy) {
  const std::string none = path();
  const Status missing = Observer(none).status(long_enough()).status();
  EXPECT_EQ(missing.code(), StatusCode::kUnavailable);
  EXPECT_NE(missing.message().find("`fray start` starts one"), std::string::npos) << missing.message();
  os::Fd stale(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  none.copy(name.sun_path, sizeof(name.sun_path) - 1);
  ASSERT_EQ(::bind(stale.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  stale.reset();
  const Status refused = Observer(none).status(long_enough()).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_NE(refused.message().find("Connection refused"), std::string::npos) << refused.message();
}

TEST_F(ObserverTest, AFullQueueIsWaitedOut) {
  os::Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path().copy(name.sun_path, sizeof(name.sun_path) - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  std::vector<os::Fd> waiting;
  Result<os::Fd> further = os::connect_to(path());
  for (; further.is_ok(); further = os::connect_to(path())) waiting.push_back(std::move(further).value());
  EXPECT_EQ(further.status().code(), StatusCode::kTimedOut);
  EXPECT_EQ(connect_to_node(path(), soon()).status().code(), StatusCode::kTimedOut);
  std::thread node([&] { os::Fd taken(::accept(listener.get(), nullptr, nullptr)); });
  EXPECT_TRUE(connect_to_node(path(), long_enough()).is_ok());
  node.join();
}

TEST_F(ObserverTest, WithoutADescriptorItIsSaidSo) {
  ScriptedNode node(path(), count);
  const std::string socket = path();
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<os::Fd> all;
  rlimit few{64, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  for (os::Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); fd.is_open();
       fd = os::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC))) {
    all.push_back(std::move(fd));
  }
  const Status said = Observer(socket).status(long_enough()).status();
  all.clear();
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(said.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(said.message().find("ulimit -n"), std::string::npos) << said.message();
  EXPECT_EQ(Observer(socket).status(long_enough()).value(), "1");
}

TEST_F(ObserverTest, AChildOfForkAsksOverAConnectionOfItsOwn) {
  ScriptedNode node(path(), count);
  const pid_t child = ::fork();
  if (child == 0) {
    Observer own(path());
    Result<std::string> said = own.status(long_enough());
    ::_exit(said.is_ok() && *said == "1" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ObserverTest, ThreadsAskSideBySide) {
  // No question is answered before all of them are there, so each has a connection for itself.
  constexpr int kThreads = 8;
  std::barrier all(kThreads);
  ScriptedNode node(path(), [&](wire::FrameSocket& client) {
    ScriptedNode::welcome(client);
    const std::uint64_t ticket = ScriptedNode::read(client).header.id;
    all.arrive_and_wait();
    reply(client, ticket, "yes");
    ScriptedNode::await_end(client);
  });
  std::atomic<int> answered{0};
  {
    Observer observer(path());
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&] { answered += observer.status(long_enough()).is_ok(); });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(answered, kThreads);
}

}  // namespace
}  // namespace fray::door
