// A client whose node is played by the test: what threads that wait are told of.
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

#include "client/call.h"
#include "client/client_test_node.h"

namespace fray::client {
namespace {

// Of a thread that says when it goes to sleep. One that wakes up because nobody has told it anything asks whether to give up.
struct WatchedHooks : WaitHooks {
  void before_sleep() override { asleep.release(); }
  bool interrupted() override {
    ++asked;
    return false;
  }
  std::counting_semaphore<> asleep{0};
  int asked = 0;
};

// A task for which the node never has a worker.
Object* submit_one(Client& client) {
  Call call;
  call.task = std::make_unique<Task>();
  call.task->function = std::make_shared<Function>();
  wire::begin_frame(call.task->frame, wire::DirectType::kTask, 0);
  wire::ByteWriter(call.task->frame).put(wire::TaskHead{});
  return client.tasks().submit(std::move(call)).value().front();
}

TEST(ClientWaits, ThreadsThatLeadAndFollowAreToldOfACancelByAThreadThatDoesNotWait) {
  PlayedNode node;
  Object* object = submit_one(*node.client);
  WatchedHooks hooks[2];
  std::vector<std::thread> threads;
  for (WatchedHooks& each : hooks) {
    threads.emplace_back([&] {
      EXPECT_EQ(node.client->waits().wait({&object, 1}, 1, std::nullopt, each), WaitResult::kDone);
    });
    each.asleep.acquire();
  }
  EXPECT_TRUE(node.client->tasks().cancel(object, false));
  for (std::thread& thread : threads) thread.join();
  for (const WatchedHooks& each : hooks) EXPECT_EQ(each.asked, 0);
  node.client->objects().release(object);
}

TEST(ClientWaits, ThreadsThatWaitAreToldThatTheClientIsClosed) {
  PlayedNode node;
  Object* object = submit_one(*node.client);
  WatchedHooks hooks[2];
  std::vector<std::thread> threads;
  for (WatchedHooks& each : hooks) {
    threads.emplace_back([&] { node.client->waits().wait({&object, 1}, 1, std::nullopt, each); });
    each.asleep.acquire();
  }
  node.client->close();
  for (std::thread& thread : threads) thread.join();
  for (const WatchedHooks& each : hooks) EXPECT_EQ(each.asked, 0);
  EXPECT_TRUE(object->failed());
  node.client->objects().release(object);
}

}  // namespace
}  // namespace fray::client
