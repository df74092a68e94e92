// What a client asks its node: whose answer is whose, and what becomes of answers that nobody waits for.
#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "client/client_test_node.h"
#include "wire/memory.h"

namespace fray::client {
namespace {

using wire::ControlType;

// Of a user who presses Ctrl-C once the question has left.
struct ImpatientHooks : WaitHooks {
  bool interrupted() override { return came; }
  bool is_main_thread() const override { return true; }
  std::atomic<bool> came{false};
};

wire::Text text(const std::string& words) { return {StatusCode::kOk, words}; }

TEST(ClientQuestions, EachThreadGetsTheAnswerToItsOwnQuestionInWhateverOrderTheyCome) {
  PlayedNode node;
  std::vector<std::string> told(2);
  std::vector<std::thread> threads;
  for (std::string& answer : told) {
    threads.emplace_back([&] {
      WaitHooks hooks;
      answer = node.client->status(hooks).value();
    });
  }
  const std::uint64_t first = node.expect(ControlType::kStatusRequest).header.id;
  const std::uint64_t second = node.expect(ControlType::kStatusRequest).header.id;
  node.send(ControlType::kStatusReply, second, text("second"));
  node.send(ControlType::kStatusReply, first, text("first"));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::string>(told.begin(), told.end()), (std::set<std::string>{"first", "second"}));
}

TEST(ClientQuestions, AnAnswerThatComesAfterAnInterruptIsNotGivenToWhoeverAsksNext) {
  PlayedNode node;
  ImpatientHooks hooks;
  Status interrupted;
  std::thread asker([&] { interrupted = node.client->status(hooks).status(); });
  const std::uint64_t late = node.expect(ControlType::kStatusRequest).header.id;
  hooks.came = true;
  node.client->ask_waiters();
  asker.join();
  EXPECT_EQ(interrupted.code(), StatusCode::kCancelled);
  std::thread other([&] {
    const std::uint64_t next = node.expect(ControlType::kStatusRequest).header.id;
    node.send(ControlType::kStatusReply, late, text("of the first question"));
    node.send(ControlType::kStatusReply, next, text("of the second question"));
  });
  WaitHooks patient;
  EXPECT_EQ(node.client->status(patient).value(), "of the second question");
  other.join();
}

TEST(ClientQuestions, MemoryThatIsGrantedAfterAnInterruptGoesBack) {
  PlayedNode node;
  ImpatientHooks hooks;
  Status interrupted;
  const std::vector<std::byte> large(1 << 20);
  std::thread putter(
      [&] { interrupted = node.client->values().put_large(wire::Encoding::kPickle, large, {}, hooks).status(); });
  const wire::Incoming asked = node.expect(ControlType::kReserve);
  const std::uint64_t bytes = wire::decode<wire::Reserve>(asked.body).value().bytes;
  hooks.came = true;
  node.client->ask_waiters();
  putter.join();
  EXPECT_EQ(interrupted.code(), StatusCode::kCancelled);
  node.send(ControlType::kReserved, asked.header.id, wire::Reserved{bytes, ""});
  EXPECT_EQ(wire::decode<wire::Reserve>(node.expect(ControlType::kUnreserve).body).value().bytes, bytes);
}

TEST(ClientQuestions, ANodeThatGoesEndsEveryWaitForAnAnswer) {
  PlayedNode node;
  std::atomic<int> told{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      WaitHooks hooks;
      told += node.client->status(hooks).status().code() == StatusCode::kUnavailable;
    });
  }
  for (int i = 0; i < 3; ++i) (void)node.expect(ControlType::kStatusRequest);
  node.socket.close();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 3);
}

}  // namespace
}  // namespace fray::client
