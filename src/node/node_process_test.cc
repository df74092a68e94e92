// A node process and those who speak with it: connections, and what must not be said.
#include <csignal>

#include "node/node_test_client.h"
#include "wire/actor.h"
#include "wire/create_actor.h"
#include "wire/object.h"

namespace fray::node {
namespace {

using wire::ControlType;

TEST(NodeProcess, HelloIsAnsweredWithWhatTheNodeHas) {
  TestNode node(R"({"cpus": 3, "memory_bytes": 1000000, "resources": {"TPU": 4, "GPU": 0}, "max_workers": 7})");
  wire::Welcome welcome = node.join();
  EXPECT_EQ(welcome.total.to_string(), "CPU 3, TPU 4, head_node 1, memory 976.6 KiB");
  EXPECT_EQ(welcome.session.max_workers, 7u);
  EXPECT_NE(welcome.session.epoch, 0u);
  EXPECT_EQ(welcome.session.release, FRAY_VERSION);
}

TEST(NodeProcess, ClientOfAnotherReleaseIsRefusedWithBothNames) {
  TestNode node;
  node.client().hello(wire::Role::kDriver, "0.0.7");
  auto refused = node.client().expect<wire::Text>(ControlType::kRefused);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->text.find("client 0.0.7, node " FRAY_VERSION), std::string::npos) << refused->text;
  EXPECT_TRUE(node.client().ends());
  // Nobody needs it any more, so it ends: the folder in which it lay is empty again.
  while (!std::filesystem::is_empty(node.home() + "/run")) {
  }
}

TEST(NodeProcess, UnknownOptionIsRefusedWithTheKnownOnes) {
  TestNode node(R"({"cpu": 2})");
  auto refused = node.client().expect<wire::Text>(ControlType::kRefused);
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->text.find("no option cpu; the options are cpus, memory_bytes"), std::string::npos)
      << refused->text;
}

TEST(NodeProcess, FirstFrameOtherThanHelloEndsThatConnectionOnly) {
  TestNode node;
  node.join();
  TestClient other = node.connect();
  other.send_raw(wire::frame(ControlType::kStatusRequest));
  EXPECT_TRUE(other.ends());
  EXPECT_EQ(node.client().status()["counters"]["broken_frames"], 1);
}

TEST(NodeProcess, GarbageEndsThatConnectionOnly) {
  TestNode node;
  node.join();
  TestClient other = node.connect();
  other.send_raw(std::string(4096, '\x5a'));
  EXPECT_TRUE(other.ends());
  EXPECT_EQ(node.client().status()["counters"]["broken_frames"], 1);
}

TEST(NodeProcess, OversizedFrameEndsThatConnectionBeforeItIsRead) {
  TestNode node;
  node.join();
  TestClient other = node.connect();
  wire::FrameHeader header;
  header.length = ~0u;
  header.type = static_cast<std::uint8_t>(ControlType::kHello);
  other.send_raw({reinterpret_cast<const char*>(&header), sizeof(header)});
  EXPECT_TRUE(other.ends());
}

TEST(NodeProcess, FrameCutShortByItsSenderHarmsNobody) {
  TestNode node;
  node.join();
  TestClient other = node.connect();
  other.send_raw(wire::frame(ControlType::kHello, 0, wire::Hello{}).substr(0, 19));
  other.close();
  while (node.client().status()["counters"]["accepted"] != 2) {
  }
}

TEST(NodeProcess, ObserverMayAskForStatusAndNothingElse) {
  TestNode node;
  node.join();
  TestClient observer = node.connect();
  observer.hello(wire::Role::kObserver);
  EXPECT_EQ(observer.status()["node"]["pid"], node.pid());
  observer.send(ControlType::kDemand, 0, wire::Demand{});
  EXPECT_TRUE(observer.ends());
}

TEST(NodeProcess, ObserverDoesNotKeepAnEmbeddedNodeAlive) {
  TestNode node;
  node.join();
  TestClient observer = node.connect();
  observer.hello(wire::Role::kObserver);
  observer.status();
  node.drop_client();
  EXPECT_TRUE(becomes_readable(node.pidfd().get()));
}

TEST(NodeProcess, WorkerThatNobodyStartedIsTurnedAway) {
  TestNode node;
  node.join();
  TestClient impostor = node.connect();
  impostor.hello(wire::Role::kWorker);
  EXPECT_TRUE(impostor.ends());
}

TEST(NodeProcess, DriverMayNotSayWhatWorkersSay) {
  TestNode node;
  node.join();
  TestClient driver = node.connect();
  driver.hello();
  driver.send_raw(wire::frame(ControlType::kBlocked));
  EXPECT_TRUE(driver.ends());
}

TEST(NodeProcess, DemandForAnUndefinedKeyEndsTheConnection) {
  TestNode node;
  node.join();
  TestClient driver = node.connect();
  driver.hello();
  wire::Demand demand;
  demand.shape.key = 5;
  demand.count = 1;
  driver.send(ControlType::kDemand, 0, demand);
  EXPECT_TRUE(driver.ends());
}

TEST(NodeProcess, ActorInTheNameOfAnotherProcessEndsTheConnection) {
  TestNode node;
  wire::Welcome first = node.join();
  TestClient other = node.connect();
  other.hello();
  ASSERT_TRUE(other.expect<wire::Welcome>(ControlType::kWelcome));
  other.send(ControlType::kDefineKey, 0, test_key());
  wire::CreateActor forged;
  forged.actor = {first.session.epoch, first.session.process, 1};
  other.send(ControlType::kCreateActor, 1, forged);
  EXPECT_TRUE(other.ends());
  EXPECT_TRUE(node.client().status()["actors"].empty());
}

TEST(NodeProcess, SecondDriverKeepsTheNodeAliveWhenTheFirstHasLeft) {
  TestNode node;
  node.join();
  TestClient second = node.connect();
  second.hello();
  ASSERT_TRUE(second.expect<wire::Welcome>(ControlType::kWelcome));
  node.drop_client();
  while (second.status()["clients"].size() != 1) {
  }
  second.close();
  EXPECT_TRUE(becomes_readable(node.pidfd().get()));
}

TEST(NodeProcess, TerminatedNodeRemovesItsFolder) {
  TestNode node;
  node.join();
  ASSERT_TRUE(os::send_signal(node.pidfd(), SIGTERM).is_ok());
  EXPECT_TRUE(becomes_readable(node.pidfd().get()));
  EXPECT_FALSE(std::filesystem::exists(node.session_folder()));
}

TEST(NodeProcess, ReaderThatNeverReadsIsDroppedAndOthersAreServed) {
  TestNode node;
  wire::Welcome welcome = node.join();
  TestClient slow = node.connect();
  slow.hello();
  auto joined = slow.expect<wire::Welcome>(ControlType::kWelcome);
  ASSERT_TRUE(joined);
  wire::Complete complete;
  complete.object = {welcome.session.epoch, joined->session.process, 1};
  complete.holder = joined->session.process;
  complete.value.encoding = wire::Encoding::kBytes;
  complete.value.bytes = std::string(1u << 19, 'v');
  slow.send(ControlType::kComplete, 0, complete);
  wire::ObjectIds want;
  want.ids.assign(200, complete.object);  // 100 MiB of answers
  slow.send(ControlType::kWant, 0, want);
  while (node.client().status()["counters"]["slow_readers"] == 0) {
  }
  EXPECT_EQ(node.client().status()["clients"].size(), 1u);
}

TEST(NodeProcess, ValueReachesAnotherProcessThatWantsIt) {
  TestNode node;
  wire::Welcome welcome = node.join();
  TestClient other = node.connect();
  other.hello();
  ASSERT_TRUE(other.expect<wire::Welcome>(ControlType::kWelcome));
  ObjectId object{welcome.session.epoch, welcome.session.process, 1};
  node.client().send(ControlType::kRegister, 0, wire::ObjectIds{{object}});
  other.send(ControlType::kHold, 0, wire::ObjectIds{{object}});
  other.send(ControlType::kWant, 0, wire::ObjectIds{{object}});
  wire::Complete complete;
  complete.object = object;
  complete.holder = welcome.session.process;
  complete.value.encoding = wire::Encoding::kUtf8;
  complete.value.bytes = "the value";
  node.client().send(ControlType::kComplete, 0, complete);
  auto ready = other.expect<wire::ObjectReady>(ControlType::kObjectReady);
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->value.bytes, "the value");
  // The last release makes the node forget it.
  node.client().send(ControlType::kRelease, 0, wire::ObjectIds{{object}});
  other.send(ControlType::kRelease, 0, wire::ObjectIds{{object}});
  while (node.client().status()["objects"]["count"] != 0) {
  }
}

TEST(NodeProcess, PendingObjectOfADeadOwnerIsLost) {
  TestNode node;
  wire::Welcome welcome = node.join();
  TestClient owner = node.connect();
  owner.hello();
  auto joined = owner.expect<wire::Welcome>(ControlType::kWelcome);
  ASSERT_TRUE(joined);
  ObjectId object{welcome.session.epoch, joined->session.process, 1};
  owner.send(ControlType::kRegister, 0, wire::ObjectIds{{object}});
  owner.status();
  node.client().send(ControlType::kHold, 0, wire::ObjectIds{{object}});
  node.client().send(ControlType::kWant, 0, wire::ObjectIds{{object}});
  owner.close();
  auto lost = node.client().expect<wire::ObjectLost>(ControlType::kObjectLost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->code, StatusCode::kOwnerDied);
}

}  // namespace
}  // namespace fray::node
