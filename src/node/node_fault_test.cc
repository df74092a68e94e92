// A node process whose kernel refuses: each fault is met by a retry, or by an error that says what happened, and costs
// nobody but those it concerns.
#include <cstring>

#include "node/node_test_store.h"

namespace fray::node {
namespace {

using wire::ControlType;

void expect_service(TestNode& node) {
  TestLease lease = lease_worker(node.client());
  ASSERT_TRUE(lease.direct.is_open());
  lease.order('e');
  EXPECT_EQ(lease.answer<char>(), 'e');
}

// What became of a demand for one worker: a lease, or why there is none.
struct Outcome {
  std::optional<TestLease> lease;
  std::string refusal;
};

Outcome demand_worker(TestClient& client, const wire::DefineKey& key, std::uint32_t number = 0) {
  client.send(ControlType::kDefineKey, 0, key);
  wire::Demand demand;
  demand.demand = number;
  demand.shape.key = key.key;
  demand.count = 1;
  EXPECT_TRUE(demand.shape.resources.set("CPU", 1).is_ok());
  client.send(ControlType::kDemand, 0, demand);
  while (auto received = client.receive()) {
    if (received->type == ControlType::kDemandRefused)
      return {{}, wire::decode<wire::DemandRefused>(received->body)->reason};
    if (received->type != ControlType::kGrant) continue;
    TestLease lease;
    lease.lease = received->id;
    lease.pid = wire::decode<wire::Grant>(received->body)->pid;
    lease.direct = std::move(received->fds.front());
    return {std::move(lease), {}};
  }
  ADD_FAILURE() << "the node neither granted nor refused";
  return {};
}

TEST(NodeFaults, ForkServerThatCannotBeStartedTwiceIsStartedTheThirdTime) {
  TestNode node(Faults{"spawn:1-2"});
  node.join();
  expect_service(node);
}

TEST(NodeFaults, ForkServerThatCanNeverBeStartedIsToldWithTheReason) {
  TestNode node(Faults{"spawn:1+"});
  node.join();
  Outcome outcome = demand_worker(node.client(), test_key());
  EXPECT_NE(outcome.refusal.find("Resource temporarily unavailable"), std::string::npos) << outcome.refusal;
}

// As SQLite tests: the first call fails, then the second, and so on until one run passes the point less often.
TEST(NodeFaults, AnyOneRefusalOnTheWayToAWorkerIsSurvived) {
  for (const char* point : {"socketpair", "pipe", "page", "module_path", "guardian_program", "watch"}) {
    for (int number = 1; number <= 12; ++number) {
      SCOPED_TRACE(std::string(point) + " " + std::to_string(number));
      TestNode node(Faults{std::string(point) + ":" + std::to_string(number)});
      node.client().hello();
      auto welcome = node.client().receive();
      if (!welcome || welcome->type == ControlType::kRefused) continue;  // it could not start, and ended
      Outcome outcome = demand_worker(node.client(), test_key());
      if (!outcome.lease) {
        EXPECT_FALSE(outcome.refusal.empty());
        outcome = demand_worker(node.client(), test_key(), 1);
      }
      ASSERT_TRUE(outcome.lease) << outcome.refusal;
      outcome.lease->order('e');
      EXPECT_EQ(outcome.lease->answer<char>(), 'e');
    }
  }
}

TEST(NodeFaults, ClientThatCannotBeAcceptedWaitsAndIsServed) {
  TestNode node(Faults{"accept:1-2"});
  node.join();
  TestClient early = node.connect();
  early.hello();
  TestClient late = node.connect();
  late.hello();
  EXPECT_TRUE(early.expect<wire::Welcome>(ControlType::kWelcome));
  EXPECT_TRUE(late.expect<wire::Welcome>(ControlType::kWelcome));
}

TEST(NodeFaults, FramesThatLeaveInPiecesArriveWhole) {
  TestNode node(Faults{"send.short:1+"});
  node.join();
  expect_service(node);
  TestClient other = node.connect();
  other.hello(wire::Role::kObserver);
  EXPECT_EQ(other.status()["clients"].size(), 1u);
}

TEST(NodeFaults, ForkThatFailsOnceIsTriedAgain) {
  TestNode node;
  node.join();
  wire::DefineKey key = test_key();
  key.description.environment.emplace_back("FRAY_FAULT", "fork:1");
  Outcome outcome = demand_worker(node.client(), key);
  ASSERT_TRUE(outcome.lease) << outcome.refusal;
}

TEST(NodeFaults, ForkThatNeverWorksIsToldWithTheReason) {
  TestNode node;
  node.join();
  wire::DefineKey key = test_key();
  key.description.environment.emplace_back("FRAY_FAULT", "fork:1+");
  Outcome outcome = demand_worker(node.client(), key);
  EXPECT_NE(outcome.refusal.find("fork failed"), std::string::npos) << outcome.refusal;
}

TEST(NodeFaults, ForkServerThatDiesWhileItForksTakesItsWorkersAndIsReplaced) {
  TestNode node;
  node.join();
  wire::DefineKey key = test_key();
  key.description.environment.emplace_back("FRAY_FAULT", "fork_server.dies:2");
  Outcome first = demand_worker(node.client(), key, 0);
  ASSERT_TRUE(first.lease) << first.refusal;
  wire::Demand demand;
  demand.demand = 1;
  demand.count = 1;
  ASSERT_TRUE(demand.shape.resources.set("CPU", 1).is_ok());
  node.client().send(ControlType::kDemand, 0, demand);
  bool lost = false;
  bool granted = false;
  while (!lost || !granted) {
    auto received = node.client().receive();
    ASSERT_TRUE(received) << "lost " << lost << ", granted " << granted;
    lost = lost || (received->type == ControlType::kWorkerLost && received->id == first.lease->lease);
    granted = granted || received->type == ControlType::kGrant;
    // Each fork server dies at its second worker: where the first is slow to greet, three starts fail in a row.
    if (received->type == ControlType::kDemandRefused) node.client().send(ControlType::kDemand, 0, demand);
  }
}

// ---- Spilling

// Reserves as a client does that lets go of all it is asked for.
std::string reserve_and_yield(TestClient& client, std::uint64_t ticket) {
  client.send(ControlType::kReserve, ticket, wire::Reserve{kSegmentBytes});
  while (auto received = client.receive()) {
    if (received->type == ControlType::kReserved) return wire::decode<wire::Reserved>(received->body)->error;
    if (received->type == ControlType::kYieldMemory) client.send_raw(wire::frame(ControlType::kMemoryYielded));
    if (received->type != ControlType::kEvict) continue;
    auto asked = wire::decode<wire::SegmentName>(received->body);
    asked->ok = true;
    client.send(ControlType::kEvicted, 0, asked.value());
  }
  return "no answer";
}

char first_byte(TestClient& client, SegmentId segment) {
  client.send(ControlType::kOpenSegment, 0, wire::SegmentName{segment, true});
  auto opened = client.receive(ControlType::kSegmentOpened);
  char byte = 0;
  if (!opened || opened->fds.size() != 1) return byte;
  EXPECT_EQ(::pread(opened->fds.front().get(), &byte, 1, 0), 1);
  return byte;
}

class NodeSpillFaults : public ::testing::TestWithParam<const char*> {};

TEST_P(NodeSpillFaults, CopyThatFailsOnceIsMadeTheSecondTime) {
  TestNode node(Faults{std::string(GetParam()) + ":1"}, kSmallStore);
  wire::Welcome welcome = node.join();
  SegmentId segment = publish(node.client(), welcome, 1).value.location.segment;
  EXPECT_EQ(reserve_and_yield(node.client(), 2), "");
  EXPECT_EQ(first_byte(node.client(), segment), 'm');
  EXPECT_EQ(node.client().status()["store"]["spilled_bytes"], kSegmentBytes);
}

TEST_P(NodeSpillFaults, CopyThatAlwaysFailsIsToldAndLosesNothing) {
  TestNode node(Faults{std::string(GetParam()) + ":1+"}, kSmallStore);
  wire::Welcome welcome = node.join();
  SegmentId segment = publish(node.client(), welcome, 1).value.location.segment;
  std::string error = reserve_and_yield(node.client(), 2);
  EXPECT_NE(error.find("spilling failed"), std::string::npos) << error;
  EXPECT_EQ(first_byte(node.client(), segment), 'm');
  EXPECT_EQ(node.client().status()["store"]["spilled_bytes"], 0);
}

INSTANTIATE_TEST_SUITE_P(Points, NodeSpillFaults,
                         ::testing::Values("thread", "spill.source", "spill.open", "spill.allocate", "spill.copy",
                                           "spill.sync"),
                         [](const auto& point) {
                           std::string name = point.param;
                           std::erase(name, '.');
                           return name;
                         });

TEST(NodeFaults, SegmentThatCannotBePassedOnIsToldToTheReaderAndCanBeAskedForAgain) {
  TestNode node(Faults{"segment.pass:1"}, kSmallStore);
  wire::Welcome welcome = node.join();
  SegmentId segment = publish(node.client(), welcome, 1).value.location.segment;
  node.client().send(ControlType::kOpenSegment, 0, wire::SegmentName{segment, true});
  auto refused = node.client().expect<wire::SegmentInfo>(ControlType::kSegmentOpened);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->error.find("Too many open files"), std::string::npos) << refused->error;
  EXPECT_EQ(first_byte(node.client(), segment), 'm');
}

}  // namespace
}  // namespace fray::node
