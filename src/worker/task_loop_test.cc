// A TaskLoop whose client and node are played by the test: which tasks run, and which go back.
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "client/client_test_node.h"
#include "door/greeting.h"
#include "os/sockets/socket_pair.h"
#include "worker/mapped_page.h"
#include "worker/task_loop.h"

namespace fray::worker {
namespace {

using Numbers = std::vector<std::uint64_t>;

struct NotingExecutor : Executor {
  void leased(double) override {}
  void bind(const wire::BindDevices&) override {}
  void define(std::uint64_t, std::string_view) override {}
  void forget(std::uint64_t) override {}
  void run(const TaskView& task, Outcome*) override {
    ran.push_back(task.number);
    meanwhile();
  }
  void interrupt() override {}
  void end_system_call() override {}
  void before_sleep() override {}
  void after_sleep() override {}

  Numbers ran;
  std::function<void()> meanwhile = [] {};
};

// The client's end of a lease.
class PlayedClient {
 public:
  explicit PlayedClient(TaskLoop& loop) {
    auto ends = os::make_socket_pair().value();
    socket_ = wire::FrameSocket(std::move(ends.first));
    theirs_ = std::move(ends.second);
    loop_ = &loop;
  }

  void begin_lease() { loop_->lease_arrived(1, 1, 1, std::move(theirs_)); }
  void end_lease() { socket_.hang_up(); }
  // Sends the tasks, and behind them a recall, so that they are read together.
  void send(const Numbers& tasks, bool recalls) {
    for (std::uint64_t task : tasks) {
      wire::append_frame(socket_.output(), wire::DirectType::kTask, task, wire::encoded(wire::TaskHead()));
    }
    if (recalls) wire::append_frame(socket_.output(), wire::DirectType::kRecall, 0);
    EXPECT_TRUE(socket_.flush().is_ok());
  }
  Numbers returned() { return wire::decode<wire::Returned>(next(wire::DirectType::kReturned).body).value().tasks; }
  std::uint64_t answered() { return next(wire::DirectType::kResult).header.id; }

 private:
  // The next frame of this type; others are passed over.
  wire::Incoming next(wire::DirectType type) {
    while (true) {
      wire::Incoming frame = door::next_frame(socket_, door::Patience::of(std::chrono::seconds(30))).value();
      if (frame.header.type == static_cast<std::uint8_t>(type)) return frame;
    }
  }

  TaskLoop* loop_;
  wire::FrameSocket socket_;
  os::Fd theirs_;
};

class TaskLoopTest : public ::testing::Test {
 protected:
  void start() {
    thread_ = std::thread([this] { loop.run(); });
  }
  // Waits for the end of the loop, in which no task may run any more, so that the test may look at what ran.
  void finish() {
    loop.node_gone();
    thread_.join();
    node.client->set_duty(nullptr);
  }

  client::PlayedNode node;
  NotingExecutor executor;
  MappedPage page{-1};
  TaskLoop loop{*node.client, executor, page};

 private:
  std::thread thread_;
};

TEST_F(TaskLoopTest, FirstTaskOfALeaseRunsThoughAllAreRecalledBeforeItBegins) {
  PlayedClient first(loop);
  first.send({1, 2, 3}, true);
  first.begin_lease();
  start();
  EXPECT_EQ(first.returned(), Numbers({2, 3}));
  EXPECT_EQ(first.answered(), 1u);
  first.end_lease();

  PlayedClient second(loop);
  second.send({1, 2}, true);
  second.begin_lease();
  EXPECT_EQ(second.returned(), Numbers({2}));
  EXPECT_EQ(second.answered(), 1u);
  second.end_lease();
  finish();
  EXPECT_EQ(executor.ran, Numbers({1, 1}));
}

TEST_F(TaskLoopTest, AllTasksThatHaveNotBegunGoBackOnceOneHasRun) {
  PlayedClient client(loop);
  client.send({1}, false);
  client.begin_lease();
  start();
  EXPECT_EQ(client.answered(), 1u);
  client.send({2, 3}, true);
  EXPECT_EQ(client.returned(), Numbers({2, 3}));
  client.end_lease();
  finish();
  EXPECT_EQ(executor.ran, Numbers({1}));
}

TEST_F(TaskLoopTest, AWaitThatIsLeftWithoutAWordEndsWithItsTask) {
  executor.meanwhile = [this] { loop.blocked(); };
  PlayedClient client(loop);
  client.send({1}, false);
  client.begin_lease();
  start();
  node.expect(wire::ControlType::kBlocked);
  EXPECT_EQ(client.returned(), Numbers());
  node.expect(wire::ControlType::kUnblocked);
  EXPECT_EQ(client.answered(), 1u);
  client.end_lease();
  finish();
}

}  // namespace
}  // namespace fray::worker
