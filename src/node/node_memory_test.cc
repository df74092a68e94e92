// A node process and shared memory: who may have how much, and what happens when it is full.
#include <csignal>
#include <cstring>

#include "node/node_test_store.h"

namespace fray::node {
namespace {

using wire::ControlType;

// The bytes behind a segment as a reader gets them.
std::string read_segment(TestClient& client, SegmentId segment) {
  client.send(ControlType::kOpenSegment, 0, wire::SegmentName{segment, true});
  auto opened = client.receive(ControlType::kSegmentOpened);
  EXPECT_TRUE(opened && opened->fds.size() == 1);
  if (!opened || opened->fds.empty()) return {};
  std::string bytes(kSegmentBytes, '\0');
  EXPECT_EQ(::pread(opened->fds.front().get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return bytes;
}

TEST(NodeMemory, ReservationBeyondTheLimitIsRefusedAtOnce) {
  TestNode node(kSmallStore);
  node.join();
  EXPECT_NE(reserve(node.client(), 7, 11u << 20).find("store is full"), std::string::npos);
  EXPECT_EQ(reserve(node.client(), 8, kSegmentBytes), "");
}

TEST(NodeMemory, FullStoreSpillsWhatItsWriterLetsGo) {
  TestNode node(kSmallStore);
  wire::Welcome welcome = node.join();
  wire::Complete object = publish(node.client(), welcome, 1);
  node.client().send(ControlType::kReserve, 2, wire::Reserve{kSegmentBytes});
  auto evict = node.client().expect<wire::SegmentName>(ControlType::kEvict);
  ASSERT_TRUE(evict);
  EXPECT_EQ(evict->segment, object.value.location.segment);
  node.client().send(ControlType::kEvicted, 0, wire::SegmentName{evict->segment, true});
  auto reserved = node.client().expect<wire::Reserved>(ControlType::kReserved);
  ASSERT_TRUE(reserved);
  EXPECT_EQ(reserved->error, "");
  EXPECT_EQ(read_segment(node.client(), evict->segment), std::string(kSegmentBytes, 'm'));
  EXPECT_EQ(node.client().status()["store"]["spilled_bytes"], kSegmentBytes);
}

TEST(NodeMemory, StoreThatNobodyLetsGoOfIsFullAndNamesTheHolder) {
  TestNode node(kSmallStore);
  wire::Welcome welcome = node.join();
  publish(node.client(), welcome, 1);
  node.client().send(ControlType::kReserve, 2, wire::Reserve{kSegmentBytes});
  auto evict = node.client().expect<wire::SegmentName>(ControlType::kEvict);
  ASSERT_TRUE(evict);
  node.client().send(ControlType::kEvicted, 0, wire::SegmentName{evict->segment, false});
  auto reserved = node.client().expect<wire::Reserved>(ControlType::kReserved);
  ASSERT_TRUE(reserved);
  EXPECT_NE(reserved->error.find("driver (pid "), std::string::npos) << reserved->error;
}

TEST(NodeMemory, WaitingReservationIsServedWhenMemoryComesBack) {
  TestNode node(kSmallStore);
  wire::Welcome welcome = node.join();
  publish(node.client(), welcome, 1);
  TestClient other = node.connect();
  other.hello();
  ASSERT_TRUE(other.expect<wire::Welcome>(ControlType::kWelcome));
  other.send(ControlType::kReserve, 3, wire::Reserve{kSegmentBytes});
  ASSERT_TRUE(node.client().expect<wire::SegmentName>(ControlType::kEvict));
  // Instead of letting go, the writer drops the segment.
  node.client().send(ControlType::kForgetSegment, 0, wire::SegmentName{{welcome.session.process, 1}, true});
  node.client().send(ControlType::kUnreserve, 0, wire::Reserve{kSegmentBytes});
  auto reserved = other.expect<wire::Reserved>(ControlType::kReserved);
  ASSERT_TRUE(reserved);
  EXPECT_EQ(reserved->error, "");
}

// The node stops while one asks for a segment and the other one announces it: whichever socket it reads first then, the
// announcement was sent before the answer.
void expect_found(TestNode& node, TestClient& writer, ProcessId process, TestClient& reader) {
  const SegmentId segment{process, 1};
  ASSERT_EQ(reserve(writer, 1, kSegmentBytes), "");
  ASSERT_EQ(::kill(node.pid(), SIGSTOP), 0);
  reader.send(ControlType::kOpenSegment, 0, wire::SegmentName{segment, true});
  writer.send(ControlType::kAnnounceSegment, 0, wire::SegmentInfo{segment, kSegmentBytes, ""}, make_segment('m'));
  ASSERT_EQ(::kill(node.pid(), SIGCONT), 0);
  auto opened = reader.expect<wire::SegmentInfo>(ControlType::kSegmentOpened);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->error, "");
  writer.send(ControlType::kForgetSegment, 0, wire::SegmentName{segment, true});
  writer.send(ControlType::kUnreserve, 0, wire::Reserve{kSegmentBytes});
}

TEST(NodeMemory, SegmentIsFoundThoughItsAnnouncementIsStillUnread) {
  TestNode node(kSmallStore);
  wire::Welcome welcome = node.join();
  TestClient other = node.connect();
  other.hello();
  auto joined = other.expect<wire::Welcome>(ControlType::kWelcome);
  ASSERT_TRUE(joined);
  expect_found(node, node.client(), welcome.session.process, other);
  expect_found(node, other, joined->session.process, node.client());
}

// The node stops while two clients ask for each other's segments, the first one before it announces its own: reading the
// second one's socket on the way to an answer, the node meets a question about what it has not read of the first one's.
void expect_both_found(TestClient& first, ProcessId first_process, TestClient& second, ProcessId second_process,
                       pid_t node) {
  const SegmentId of_first{first_process, 1};
  const SegmentId of_second{second_process, 1};
  ASSERT_EQ(reserve(first, 1, kSegmentBytes), "");
  ASSERT_EQ(reserve(second, 1, kSegmentBytes), "");
  ASSERT_EQ(::kill(node, SIGSTOP), 0);
  first.send(ControlType::kOpenSegment, 0, wire::SegmentName{of_second, true});
  first.send(ControlType::kAnnounceSegment, 0, wire::SegmentInfo{of_first, kSegmentBytes, ""}, make_segment('m'));
  second.send(ControlType::kAnnounceSegment, 0, wire::SegmentInfo{of_second, kSegmentBytes, ""}, make_segment('m'));
  second.send(ControlType::kOpenSegment, 0, wire::SegmentName{of_first, true});
  ASSERT_EQ(::kill(node, SIGCONT), 0);
  for (TestClient* reader : {&first, &second}) {
    auto opened = reader->expect<wire::SegmentInfo>(ControlType::kSegmentOpened);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->error, "");
  }
  for (auto [writer, segment] : {std::pair{&first, of_first}, std::pair{&second, of_second}}) {
    writer->send(ControlType::kForgetSegment, 0, wire::SegmentName{segment, true});
    writer->send(ControlType::kUnreserve, 0, wire::Reserve{kSegmentBytes});
  }
}

TEST(NodeMemory, SegmentsAreFoundByTwoThatAskForEachOthersBeforeTheirOwnAreRead) {
  TestNode node;
  wire::Welcome welcome = node.join();
  TestClient other = node.connect();
  other.hello();
  auto joined = other.expect<wire::Welcome>(ControlType::kWelcome);
  ASSERT_TRUE(joined);
  const ProcessId mine = welcome.session.process;
  const ProcessId theirs = joined->session.process;
  // Whichever socket the node reads first, in one of the two it meets the question too early.
  expect_both_found(node.client(), mine, other, theirs, node.pid());
  expect_both_found(other, theirs, node.client(), mine, node.pid());
}

TEST(NodeMemory, SegmentThatIsNeverAnnouncedIsRefusedThoughItsWriterAsks) {
  TestNode node;
  wire::Welcome welcome = node.join();
  node.client().send(ControlType::kOpenSegment, 0, wire::SegmentName{{welcome.session.process, 7}, true});
  auto opened = node.client().expect<wire::SegmentInfo>(ControlType::kSegmentOpened);
  ASSERT_TRUE(opened);
  EXPECT_NE(opened->error, "");
}

TEST(NodeMemory, SealedObjectOutlivesItsWriter) {
  TestNode node(kSmallStore);
  wire::Welcome mine = node.join();
  TestClient writer = node.connect();
  writer.hello();
  auto joined = writer.expect<wire::Welcome>(ControlType::kWelcome);
  ASSERT_TRUE(joined);
  wire::Complete object = publish(writer, *joined, 1);
  writer.status();
  node.client().send(ControlType::kHold, 0, wire::ObjectIds{{object.object}});
  writer.close();
  while (node.client().status()["clients"].size() != 1) {
  }
  EXPECT_EQ(read_segment(node.client(), object.value.location.segment), std::string(kSegmentBytes, 'm'));
  // Its last holder gone, the memory is free again.
  node.client().send(ControlType::kRelease, 0, wire::ObjectIds{{object.object}});
  while (node.client().status()["store"]["used_bytes"] != 0) {
  }
}

TEST(NodeMemory, LastReleaseGivesTheRangeBackToItsWriter) {
  TestNode node(kSmallStore);
  wire::Welcome welcome = node.join();
  wire::Complete object = publish(node.client(), welcome, 1);
  node.client().send(ControlType::kRelease, 0, wire::ObjectIds{{object.object}});
  auto freed = node.client().expect<wire::FreeRange>(ControlType::kFreeRange);
  ASSERT_TRUE(freed);
  EXPECT_EQ(freed->location, object.value.location);
  EXPECT_TRUE(freed->reuse);
}

TEST(NodeMemory, MemoryOfAnObjectThatADriverHeldWhenItLeftIsNotReused) {
  TestNode node(kSmallStore);
  wire::Welcome welcome = node.join();
  wire::Complete object = publish(node.client(), welcome, 1);
  TestClient reader = node.connect();
  reader.hello();
  ASSERT_TRUE(reader.expect<wire::Welcome>(ControlType::kWelcome));
  reader.send(ControlType::kHold, 0, wire::ObjectIds{{object.object}});
  reader.status();
  reader.close();  // its process lives on
  node.client().send(ControlType::kRelease, 0, wire::ObjectIds{{object.object}});
  auto freed = node.client().expect<wire::FreeRange>(ControlType::kFreeRange);
  ASSERT_TRUE(freed);
  EXPECT_EQ(freed->location, object.value.location);
  EXPECT_FALSE(freed->reuse);
}

TEST(NodeMemory, ValueInAnUnannouncedSegmentEndsTheConnection) {
  TestNode node(kSmallStore);
  wire::Welcome welcome = node.join();
  TestClient liar = node.connect();
  liar.hello();
  auto joined = liar.expect<wire::Welcome>(ControlType::kWelcome);
  ASSERT_TRUE(joined);
  wire::Complete complete;
  complete.object = {welcome.session.epoch, joined->session.process, 1};
  complete.holder = joined->session.process;
  complete.value.kind = wire::ValueKind::kSealed;
  complete.value.object = complete.object;
  complete.value.location = {{joined->session.process, 9}, 0, 100};
  liar.send(ControlType::kComplete, 0, complete);
  EXPECT_TRUE(liar.ends());
}

}  // namespace
}  // namespace fray::node
