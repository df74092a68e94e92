#include "object/holder_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace fray::object {
namespace {

constexpr std::uint32_t kEpoch = 77;
constexpr ProcessId kDriver = 1;
constexpr ProcessId kWorker = 2;
constexpr ProcessId kOther = 3;

ObjectId id(ProcessId owner, std::uint64_t sequence) { return {.epoch = kEpoch, .owner = owner, .sequence = sequence}; }

class HolderTableTest : public testing::Test {
 protected:
  HolderTableTest() {
    for (ProcessId process : {kDriver, kWorker, kOther}) table.process_joined(process);
  }
  void grace() {
    table.round_drained();
    table.round_drained();
    EXPECT_FALSE(table.has_removals());
  }
  std::vector<Command> take() { return table.take_commands(); }

  HolderTable table{kEpoch};
  const ObjectId a = id(kDriver, 1);
  const ObjectId b = id(kDriver, 2);
};

TEST_F(HolderTableTest, LastReleaseForgetsTheObjectAfterAGraceRound) {
  table.registered(kDriver, a);
  table.completed(kDriver, a, {});
  table.released(kDriver, a);
  EXPECT_TRUE(table.is_known(a));
  table.round_drained();
  EXPECT_TRUE(table.is_known(a)) << "the release was read in this round";
  EXPECT_TRUE(table.has_removals());
  table.round_drained();
  EXPECT_EQ(take(), (std::vector<Command>{Forget{a}}));
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(HolderTableTest, HoldOfAnotherProcessReadBeforeTheRoundEndsKeepsTheObject) {
  table.registered(kDriver, a);
  table.released(kDriver, a);
  table.round_drained();
  table.held(kWorker, a);
  table.round_drained();
  EXPECT_EQ(table.holders(a), (std::vector<ProcessId>{kWorker}));
}

TEST_F(HolderTableTest, ProcessThatHoldsAgainVoidsItsRelease) {
  table.registered(kDriver, a);
  table.released(kDriver, a);
  table.held(kDriver, a);
  grace();
  EXPECT_EQ(table.holders(a), (std::vector<ProcessId>{kDriver}));
  table.released(kDriver, a);
  grace();
  EXPECT_FALSE(table.is_known(a));
}

TEST_F(HolderTableTest, ReleaseThatOvertookTheCompleteInItsNameStillCounts) {
  table.released(kDriver, a);
  table.completed(kDriver, a, {});
  grace();
  EXPECT_FALSE(table.is_known(a));
}

TEST_F(HolderTableTest, HoldersAreASet) {
  for (ProcessId process : {kOther, kWorker, kDriver, kWorker}) table.registered(process, a);
  EXPECT_EQ(table.holders(a), (std::vector<ProcessId>{kDriver, kWorker, kOther}));
  table.released(kWorker, a);
  grace();
  EXPECT_EQ(table.holders(a), (std::vector<ProcessId>{kDriver, kOther}));
}

TEST_F(HolderTableTest, ContainedObjectLivesAsLongAsItsContainer) {
  table.registered(kDriver, b);
  table.completed(kDriver, b, {});
  table.completed(kDriver, a, {b});
  table.released(kDriver, b);
  grace();
  EXPECT_TRUE(table.is_known(b));
  table.released(kDriver, a);
  grace();
  EXPECT_EQ(take(), (std::vector<Command>{Forget{a}, Forget{b}}));
}

TEST_F(HolderTableTest, ContainerCanNameAnObjectBeforeItIsRegistered) {
  table.completed(kDriver, a, {b, b});
  table.registered(kDriver, b);
  table.released(kDriver, b);
  grace();
  EXPECT_TRUE(table.is_known(b));
  table.released(kDriver, a);
  grace();
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(HolderTableTest, WantsAreAnsweredAtOnceOrOnCompletion) {
  table.registered(kDriver, a);
  table.wanted(kWorker, a);
  table.wanted(kWorker, a);
  EXPECT_TRUE(take().empty());
  table.completed(kDriver, a, {});
  EXPECT_EQ(take(), (std::vector<Command>{Deliver{kWorker, a}}));
  table.wanted(kOther, a);
  EXPECT_EQ(take(), (std::vector<Command>{Deliver{kOther, a}}));
}

TEST_F(HolderTableTest, SecondCompletionIsDropped) {
  EXPECT_TRUE(table.completed(kDriver, a, {}));
  EXPECT_FALSE(table.completed(kDriver, a, {b}));
  EXPECT_FALSE(table.is_known(b));
}

TEST_F(HolderTableTest, PendingObjectIsLostWithItsOwnerAfterAGraceRound) {
  table.registered(kDriver, a);
  table.held(kWorker, a);
  table.wanted(kWorker, a);
  table.process_left(kDriver);
  table.round_drained();
  EXPECT_TRUE(take().empty());
  table.round_drained();
  EXPECT_EQ(take(), (std::vector<Command>{ReportLost{kWorker, a, StatusCode::kOwnerDied}}));
  EXPECT_FALSE(table.completed(kWorker, a, {})) << "too late";
}

TEST_F(HolderTableTest, CompletionThatArrivesWithinTheGraceRoundCounts) {
  table.held(kWorker, a);
  table.process_left(kDriver);
  table.round_drained();
  table.completed(kDriver, a, {});
  table.round_drained();
  EXPECT_TRUE(table.is_complete(a));
  grace();
  EXPECT_EQ(table.holders(a), (std::vector<ProcessId>{kWorker}));
}

TEST_F(HolderTableTest, CompletedObjectOutlivesItsOwner) {
  table.completed(kDriver, a, {});
  table.held(kWorker, a);
  table.process_left(kDriver);
  grace();
  EXPECT_TRUE(table.is_complete(a));
}

TEST_F(HolderTableTest, UnknownObjectOfAnOwnerThatLeftBeforeIsLost) {
  table.process_left(kDriver);
  grace();
  table.held(kWorker, a);
  table.wanted(kWorker, a);
  grace();
  EXPECT_EQ(take(), (std::vector<Command>{ReportLost{kWorker, a, StatusCode::kOwnerDied}}));
}

TEST_F(HolderTableTest, CompletionInTheNameOfADeadHolderLeavesNothing) {
  table.process_left(kDriver);
  grace();
  table.completed(kDriver, a, {b});
  grace();
  EXPECT_EQ(table.size(), 0u);
}

TEST_F(HolderTableTest, WantOfAnObjectThatNobodyHoldsIsAnswered) {
  table.wanted(kWorker, a);
  grace();
  EXPECT_EQ(take(), (std::vector<Command>{ReportLost{kWorker, a, StatusCode::kObjectLost}, Forget{a}}));
}

TEST_F(HolderTableTest, ObjectThatNobodyRegisteredWithinAGraceRoundIsLost) {
  table.held(kWorker, a);
  table.wanted(kWorker, a);
  table.round_drained();
  EXPECT_TRUE(take().empty());
  table.round_drained();
  EXPECT_EQ(take(), (std::vector<Command>{ReportLost{kWorker, a, StatusCode::kObjectLost}}));
  table.held(kWorker, b);
  table.registered(kDriver, b);
  grace();
  EXPECT_FALSE(table.is_lost(b));
}

TEST_F(HolderTableTest, ObjectOfAnotherEngineIsCountedAndReported) {
  const ObjectId stray{.epoch = kEpoch + 1, .owner = kDriver, .sequence = 1};
  table.registered(kDriver, stray);
  EXPECT_FALSE(table.completed(kDriver, stray, {}));
  table.wanted(kDriver, stray);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.contradictions(), 3u);
  EXPECT_EQ(take(), (std::vector<Command>{ReportLost{kDriver, stray, StatusCode::kObjectLost}}));
}

TEST_F(HolderTableTest, MessagesOfADeadProcessAreIgnored) {
  table.process_left(kWorker);
  table.held(kWorker, a);
  table.released(kWorker, a);
  table.wanted(kWorker, a);
  table.process_left(kWorker);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.contradictions(), 4u);
}

TEST_F(HolderTableTest, NamesTheCompleteObjectsThatAProcessHolds) {
  table.registered(kDriver, a);
  table.held(kWorker, a);
  table.held(kWorker, b);
  table.completed(kDriver, a, {});
  EXPECT_EQ(table.held_by(kWorker), (std::vector<ObjectId>{a}));
  EXPECT_TRUE(table.held_by(kOther).empty());
  table.process_left(kWorker);
  EXPECT_TRUE(table.held_by(kWorker).empty());
}

TEST_F(HolderTableTest, LongChainsAreForgottenWithoutRecursion) {
  constexpr std::uint64_t kLength = 100'000;
  for (std::uint64_t i = 1; i < kLength; ++i) table.completed(kWorker, id(kDriver, i), {id(kDriver, i + 1)});
  table.completed(kWorker, id(kDriver, kLength), {});
  for (std::uint64_t i = 2; i <= kLength; ++i) table.released(kWorker, id(kDriver, i));
  grace();
  EXPECT_EQ(table.size(), kLength);
  table.released(kWorker, id(kDriver, 1));
  grace();
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(take().size(), kLength);
}

}  // namespace
}  // namespace fray::object
