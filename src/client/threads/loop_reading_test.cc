#include "client/threads/loop_reading.h"

#include <gtest/gtest.h>

namespace fray::client {
namespace {

void look(LoopReading& loops, bool tells, bool reads, bool soon = true) {
  loops.begin_look();
  if (tells) loops.note_told();
  loops.end_look(reads, soon);
}

TEST(LoopReading, AsksOnceForEachLook) {
  LoopReading loops;
  EXPECT_TRUE(loops.ask());
  EXPECT_FALSE(loops.ask());
  loops.begin_look();
  EXPECT_TRUE(loops.end_look(false, true));
  EXPECT_TRUE(loops.ask());
}

TEST(LoopReading, StaysWithTheSocketsAfterALookThatToldALoop) {
  LoopReading loops;
  EXPECT_FALSE(loops.at_once(0));
  EXPECT_TRUE(loops.at_once(1));
  look(loops, true, true);
  EXPECT_TRUE(loops.at_once(0));
  look(loops, false, true);
  EXPECT_FALSE(loops.at_once(0));
}

TEST(LoopReading, LeavesTheSocketsToAThreadThatLeads) {
  LoopReading loops;
  look(loops, true, true);
  loops.note_leader();
  EXPECT_FALSE(loops.at_once(0));
  EXPECT_TRUE(loops.at_once(1));
}

TEST(LoopReading, ReadsInGroupsForLoopsThatWaitForMany) {
  LoopReading loops;
  look(loops, true, true);
  EXPECT_TRUE(loops.at_once(LoopReading::kFewAwaited));
  EXPECT_FALSE(loops.at_once(LoopReading::kFewAwaited + 1));
}

TEST(LoopReading, ReadsInGroupsWhileFramesStreamInForOthers) {
  LoopReading loops;
  for (int i = 1; i < LoopReading::kMostLooksForOthers; ++i) look(loops, false, true);
  EXPECT_TRUE(loops.at_once(1));
  look(loops, false, true);
  EXPECT_FALSE(loops.at_once(1));
  look(loops, false, false);  // nothing came, but within the tick
  EXPECT_FALSE(loops.at_once(1));
  look(loops, false, true, false);
  EXPECT_TRUE(loops.at_once(1));
}

TEST(LoopReading, CountsLooksForOthersAnewOnceALoopWasTold) {
  LoopReading loops;
  for (int i = 0; i < LoopReading::kMostLooksForOthers; ++i) look(loops, false, true);
  look(loops, true, true);
  EXPECT_TRUE(loops.at_once(1));
}

}  // namespace
}  // namespace fray::client
