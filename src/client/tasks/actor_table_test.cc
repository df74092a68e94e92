#include "client/tasks/actor_table.h"

#include <gtest/gtest.h>

#include "client/objects/shared_memory.h"
#include "client/tasks/task_ledger.h"
#include "os/sockets/socket_pair.h"

namespace fray::client {
namespace {

using wire::ControlType;
using wire::DirectType;

class ActorTableTest : public ::testing::Test {
 protected:
  ActorTableTest() : ActorTableTest(os::make_socket_pair().value()) {}
  ~ActorTableTest() override {
    ledger_.fail_all(StatusCode::kUnavailable, "end of the test");
    actors_.collect();
    for (Object* object : counted_) release(object);
  }

  Object* call() {
    auto* result = new Object;
    result->id = objects_.own_id(objects_.take_sequence(1));
    result->references = 2;
    counted_.push_back(result);
    auto* task = new Task;
    result->producer = task;
    task->function = function_;
    task->first_result = result;
    task->returns = 1;
    wire::begin_frame(task->frame, DirectType::kTask, result->id.sequence);
    wire::ByteWriter(task->frame).put(wire::TaskHead{});
    actors_.call(actors_.queue(actor_), task);
    return result;
  }
  // The instance's end of a new connection.
  wire::FrameSocket connect() {
    auto ends = os::make_socket_pair().value();
    wire::ActorConnected message;
    message.actor = actor_->id;
    actors_.connected(message, std::move(ends.first));
    return wire::FrameSocket(std::move(ends.second));
  }
  void lose() {
    wire::ActorLost message;
    message.actor = actor_->id;
    actors_.lost(message);
  }
  void read_connection() { ledger_.receive(actors_.queue(actor_)->connection.get()); }
  void answer(wire::FrameSocket& socket, const Object* call) {
    std::size_t begin = wire::begin_frame(socket.output(), DirectType::kResult, call->id.sequence);
    wire::ByteWriter out(socket.output());
    wire::ResultHead head;
    head.values = 1;
    out.put(head);
    wire::encode(out, wire::Value{});
    wire::finish_frame(socket.output(), begin);
    ASSERT_TRUE(socket.flush().is_ok());
  }
  static std::vector<std::uint64_t> calls_in(wire::FrameSocket& socket) {
    std::vector<std::uint64_t> numbers;
    (void)socket.fill().is_ok();
    wire::Incoming frame;
    while (socket.next(&frame).value()) {
      if (static_cast<DirectType>(frame.header.type) == DirectType::kTask) numbers.push_back(frame.header.id);
    }
    return numbers;
  }
  // How often the node was asked for a connection since the last time.
  int times_asked() {
    link_.flush();
    (void)node_.fill().is_ok();
    wire::Incoming frame;
    int times = 0;
    while (node_.next(&frame).value())
      times += static_cast<ControlType>(frame.header.type) == ControlType::kConnectActor;
    return times;
  }
  static Clock::time_point later() { return Clock::now() + std::chrono::seconds(1); }

  NodeLink link_;
  wire::FrameSocket node_;
  SharedMemory memory_{{[](std::uint64_t) { return Status::ok(); }, [](std::uint64_t) {}, [](SegmentId) {}}};
  ObjectTable objects_{link_, memory_};
  Timeline timeline_;
  TaskLedger ledger_{link_, objects_, timeline_, [](Object*) {}};
  ActorTable actors_{link_, objects_, ledger_};
  std::shared_ptr<Function> function_ = std::make_shared<Function>();
  Object* actor_ = new Object;
  std::vector<Object*> counted_{actor_};

 private:
  explicit ActorTableTest(std::pair<os::Fd, os::Fd> ends)
      : link_(std::move(ends.first)), node_(std::move(ends.second)) {
    objects_.set_identity(77, 1);
    memory_.set_process(1);
    actor_->id = objects_.own_id(objects_.take_sequence(1));
  }
  void release(Object* object) {
    if (object->references.fetch_sub(1) == 1) objects_.destroy(object);
  }
};

TEST_F(ActorTableTest, CallsWaitForTheConnectionAndKeepTheirOrder) {
  Object* first = call();
  Object* second = call();
  EXPECT_EQ(times_asked(), 1);
  wire::FrameSocket instance = connect();
  EXPECT_EQ(calls_in(instance), (std::vector{first->id.sequence, second->id.sequence}));
}

TEST_F(ActorTableTest, CancelledCallsLeaveTheOthersInTheirOrder) {
  std::vector<Object*> calls;
  for (int i = 0; i < 6; ++i) calls.push_back(call());
  for (std::size_t cancelled : {4u, 0u, 2u}) EXPECT_TRUE(ledger_.cancel(calls[cancelled], false));
  wire::FrameSocket instance = connect();
  EXPECT_EQ(calls_in(instance), (std::vector{calls[1]->id.sequence, calls[3]->id.sequence, calls[5]->id.sequence}));
}

TEST_F(ActorTableTest, BrokenSocketIsAskedForAgainAfterAPause) {
  call();
  connect();
  times_asked();
  read_connection();
  EXPECT_EQ(times_asked(), 0);
  actors_.tick(later());
  EXPECT_EQ(times_asked(), 1);
}

TEST_F(ActorTableTest, NextInstanceIsNotAskedForASecondConnection) {
  call();
  connect();
  read_connection();
  lose();
  wire::FrameSocket next = connect();
  times_asked();
  actors_.tick(later());
  EXPECT_EQ(times_asked(), 0);
}

TEST_F(ActorTableTest, InstanceThatIsAwaitedIsNotAskedForAgain) {
  call();
  connect();
  read_connection();
  lose();
  times_asked();
  actors_.tick(later());
  EXPECT_EQ(times_asked(), 0);
}

TEST_F(ActorTableTest, SecondConnectionToALivingInstanceDisturbsNoCall) {
  Object* result = call();
  wire::FrameSocket instance = connect();
  wire::FrameSocket superfluous = connect();
  EXPECT_FALSE(result->is_ready());
  answer(instance, result);
  read_connection();
  EXPECT_TRUE(result->is_ready());
  EXPECT_FALSE(result->failed());
}

TEST_F(ActorTableTest, CallsFailWhenNoDescriptorIsFreeForTheConnectionForLong) {
  Object* result = call();
  wire::ActorConnected message;
  message.actor = actor_->id;
  for (std::uint32_t i = 1; i < kMostTimesWithoutDescriptors; ++i) actors_.connected(message, os::Fd());
  EXPECT_FALSE(result->is_ready());
  actors_.connected(message, os::Fd());
  ASSERT_TRUE(result->failed());
  EXPECT_NE(result->bytes.find("ulimit -n"), std::string::npos);
  times_asked();
  Object* later = call();
  EXPECT_EQ(times_asked(), 1);
  wire::FrameSocket instance = connect();
  EXPECT_EQ(calls_in(instance), std::vector{later->id.sequence});
}

// Many actors that rest.
class ActorCrowdTest : public ActorTableTest {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < 4 * kAtOnce; ++i) {
      actor_ = new Object;
      actor_->id = objects_.own_id(objects_.take_sequence(1));
      counted_.push_back(actor_);
      Object* first = call();
      crowd_.push_back({actor_, connect()});
      answer(crowd_.back().socket, first);
      read_connection();
    }
    ledger_.flush();
    for (Member& member : crowd_) calls_in(member.socket);
  }
  void call_all() {
    for (Member& member : crowd_) {
      actor_ = member.actor;
      member.call = call();
    }
  }
  // How many have got a call since the last time.
  std::size_t called() {
    std::size_t count = 0;
    for (Member& member : crowd_) count += calls_in(member.socket).size();
    return count;
  }
  void first_answers() {
    actor_ = crowd_.front().actor;
    answer(crowd_.front().socket, crowd_.front().call);
    read_connection();
  }

  struct Member {
    Object* actor;
    wire::FrameSocket socket;
    Object* call = nullptr;
  };
  const std::size_t kAtOnce = std::max<std::size_t>(4, static_cast<std::size_t>(2 * os::usable_cpus()));
  std::vector<Member> crowd_;
};

TEST_F(ActorCrowdTest, AFewAreWokenAtOnceAndAllWhenTheProgramWaits) {
  call_all();
  EXPECT_EQ(called(), kAtOnce);
  EXPECT_FALSE(ledger_.held_until().has_value());
  ledger_.flush();
  EXPECT_EQ(called(), 3 * kAtOnce);
}

TEST_F(ActorCrowdTest, AFewMoreAreWokenAtEachLookWhileSomeAnswer) {
  call_all();
  called();
  first_answers();
  ledger_.flush_some();
  EXPECT_EQ(called(), kAtOnce);
  EXPECT_TRUE(ledger_.held_until().has_value());
  ledger_.flush();
  EXPECT_EQ(called(), 2 * kAtOnce);
  EXPECT_FALSE(ledger_.held_until().has_value());
}

TEST_F(ActorCrowdTest, AllAreWokenAtTheNextLookWhereNoneHasAnswered) {
  call_all();
  EXPECT_EQ(called(), kAtOnce);
  ledger_.flush_some();  // those of the beginning have answered
  EXPECT_EQ(called(), kAtOnce);
  ledger_.flush_some();
  EXPECT_EQ(called(), 2 * kAtOnce);
  EXPECT_FALSE(ledger_.held_until().has_value());
}

TEST_F(ActorCrowdTest, CallsThatAreHeldBackKeepTheirOrderAndMayBeCancelled) {
  call_all();
  called();
  Member& last = crowd_.back();
  actor_ = last.actor;
  Object* second = call();
  EXPECT_TRUE(ledger_.cancel(last.call, false));  // what is buffered goes out before the cancel
  EXPECT_EQ(calls_in(last.socket), (std::vector{last.call->id.sequence, second->id.sequence}));
}

TEST_F(ActorCrowdTest, AnActorThatEndsWhileItsCallIsHeldBackIsForgotten) {
  call_all();
  first_answers();
  ledger_.flush_some();
  actor_ = crowd_.back().actor;
  lose();
  ledger_.flush();
  EXPECT_EQ(calls_in(crowd_[crowd_.size() - 2].socket).size(), 1u);
}

}  // namespace
}  // namespace fray::client
