// A client whose node is played by the test: what threads that wait are told of.
#include <cerrno>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "client/call.h"
#include "client/client_test_node.h"
#include "wire/demand.h"
#include "wire/direct.h"
#include "wire/lease.h"
#include "wire/object.h"

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

// Leases the worker at the other end of the socket that it returns.
wire::FrameSocket grant_worker(PlayedNode& node) {
  const wire::Incoming asked = node.expect(wire::ControlType::kDemand);
  wire::Grant grant;
  grant.demand = wire::decode<wire::Demand>(asked.body).value().demand;
  auto ends = os::make_socket_pair().value();
  std::vector<os::Fd> fds;
  fds.push_back(std::move(ends.second));
  node.socket.queue(wire::frame(wire::ControlType::kGrant, 1, grant, 1), std::move(fds));
  EXPECT_TRUE(node.socket.flush().is_ok());
  return wire::FrameSocket(std::move(ends.first));
}

wire::Incoming next_task(wire::FrameSocket& worker) {
  while (true) {
    auto frame = door::next_frame(worker, door::Patience::of(std::chrono::seconds(30))).value();
    if (frame.header.type == static_cast<std::uint8_t>(wire::DirectType::kTask)) return frame;
  }
}

void say(wire::FrameSocket& worker, std::string bytes) {
  worker.queue(std::move(bytes));
  EXPECT_TRUE(worker.flush().is_ok());
}

// Whether the client has read all that the worker has said, before it gives the idle worker back.
bool is_heard(const wire::FrameSocket& worker) {
  int unread = 1;
  while (unread > 0) {
    if (::ioctl(worker.fd(), SIOCOUTQ, &unread) != 0) return false;
    std::this_thread::yield();
  }
  char byte = 0;
  return ::recv(worker.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

// The answer to a recall may find the worker idle. Unread it would end each sleep of the thread that waits.
TEST(ClientWaits, AThreadThatWaitsForTheNodeReadsWhatAnIdleWorkerSays) {
  PlayedNode node;
  Object* object = submit_one(*node.client);
  wire::FrameSocket worker = grant_worker(node);
  WatchedHooks hooks;
  std::thread first([&] { node.client->waits().wait({&object, 1}, 1, std::nullopt, hooks); });
  wire::ResultHead head;
  head.values = 1;
  std::string value;
  wire::ByteWriter writer(value);
  wire::encode(writer, wire::Value{});
  std::string answer;
  wire::append_result(answer, next_task(worker).header.id, head, value);
  say(worker, std::move(answer));
  first.join();

  std::thread asker([&] { (void)node.client->status(hooks); });
  const std::uint64_t question = node.expect(wire::ControlType::kStatusRequest).header.id;
  std::string returned;
  wire::append_frame(returned, wire::DirectType::kReturned, 0,
                     wire::encoded(wire::Returned{wire::ReturnReason::kRecalled, {}}));
  say(worker, std::move(returned));
  EXPECT_TRUE(is_heard(worker));
  node.send(wire::ControlType::kStatusReply, question, wire::Text{StatusCode::kOk, "fine"});
  asker.join();
  node.client->objects().release(object);
}

}  // namespace
}  // namespace fray::client
