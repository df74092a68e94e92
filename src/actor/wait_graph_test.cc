#include "actor/wait_graph.h"

#include <gtest/gtest.h>

namespace fray::actor {
namespace {

constexpr std::uint32_t kEpoch = 7;
constexpr ProcessId kDriver = 1, kA = 11, kB = 12, kC = 13, kTaskWorker = 20;

ObjectId call(ProcessId caller, std::uint64_t number) { return {kEpoch, caller, number}; }
ActorId actor_in(ProcessId worker) { return {kEpoch, 99, worker}; }  // an actor whose worker has this number
ProcessId worker_of_actor(const ActorId& actor) { return static_cast<ProcessId>(actor.sequence); }

CallWait wait_of(ObjectId waiter, std::vector<AwaitedCall> awaited, std::uint32_t places = 1) {
  const auto needed = static_cast<std::uint32_t>(awaited.size());
  return {waiter, "waiter", places, needed, std::move(awaited)};
}
AwaitedCall sent_to(ProcessId worker, ObjectId which) { return {which, actor_in(worker), "method"}; }
AwaitedCall task(ObjectId which) { return {which, {}, "task"}; }

std::set<WaitKey> stuck_in(const WaitGraph& graph) { return graph.stuck(worker_of_actor); }

TEST(WaitGraph, ACallThatWaitsForALaterOneOfItsOwnActorIsStuck) {
  WaitGraph graph;
  graph.add({kA, 1}, wait_of(call(kDriver, 1), {sent_to(kA, call(kA, 1))}));
  EXPECT_EQ(stuck_in(graph), (std::set<WaitKey>{{kA, 1}}));
}

TEST(WaitGraph, TwoActorsThatWaitForEachOtherAreStuck) {
  WaitGraph graph;
  graph.add({kA, 1}, wait_of(call(kDriver, 1), {sent_to(kB, call(kA, 1))}));
  EXPECT_TRUE(stuck_in(graph).empty()) << "B may be working";
  graph.add({kB, 1}, wait_of(call(kA, 1), {sent_to(kA, call(kB, 1))}));
  EXPECT_EQ(stuck_in(graph).size(), 2u);
  EXPECT_EQ(graph.circle(stuck_in(graph), worker_of_actor).size(), 2u);
  graph.remove({kA, 1});
  EXPECT_TRUE(stuck_in(graph).empty());
}

TEST(WaitGraph, AnActorThatWaitsForATaskThatWaitsForItIsStuck) {
  WaitGraph graph;
  graph.add({kA, 1}, wait_of(call(kDriver, 1), {task(call(kA, 1))}));
  graph.add({kTaskWorker, 1}, wait_of(call(kA, 1), {sent_to(kA, call(kTaskWorker, 1))}));
  EXPECT_EQ(stuck_in(graph).size(), 2u);
}

TEST(WaitGraph, CallsOfTwoDriversThatCrossAreStuck) {
  WaitGraph graph;
  graph.add({kA, 1}, wait_of(call(1, 1), {sent_to(kB, call(kA, 1))}));
  graph.add({kB, 1}, wait_of(call(2, 1), {sent_to(kA, call(kB, 1))}));
  EXPECT_EQ(stuck_in(graph).size(), 2u);
}

TEST(WaitGraph, AFreePlaceLetsTheCallRun) {
  WaitGraph graph;
  graph.add({kA, 1}, wait_of(call(kDriver, 1), {sent_to(kB, call(kA, 1))}, 2));
  graph.add({kB, 1}, wait_of(call(kA, 1), {sent_to(kA, call(kB, 1))}));
  EXPECT_TRUE(stuck_in(graph).empty());
  graph.add({kA, 2}, wait_of(call(kDriver, 2), {sent_to(kB, call(kA, 2))}, 2));
  EXPECT_EQ(stuck_in(graph).size(), 3u) << "now both places of A are taken";
}

TEST(WaitGraph, AWaitThatNeedsOneOfSeveralGoesOnWhileOneMayCome) {
  WaitGraph graph;
  CallWait either = wait_of(call(kDriver, 1), {sent_to(kB, call(kA, 1)), task(call(kA, 2))});
  either.needed = 1;
  graph.add({kA, 1}, either);
  graph.add({kB, 1}, wait_of(call(kA, 1), {sent_to(kA, call(kB, 1))}));
  EXPECT_TRUE(stuck_in(graph).empty());
  graph.add({kTaskWorker, 1}, wait_of(call(kA, 2), {sent_to(kA, call(kTaskWorker, 1))}));
  EXPECT_EQ(stuck_in(graph).size(), 3u);
}

TEST(WaitGraph, WhoWaitsForACircleIsStuckButNotPartOfIt) {
  WaitGraph graph;
  graph.add({kA, 1}, wait_of(call(kDriver, 1), {sent_to(kB, call(kA, 1))}));
  graph.add({kB, 1}, wait_of(call(kA, 1), {sent_to(kA, call(kB, 1))}));
  graph.add({kC, 1}, wait_of(call(kDriver, 2), {sent_to(kA, call(kC, 1))}));
  const std::set<WaitKey> stuck = stuck_in(graph);
  EXPECT_EQ(stuck.size(), 3u);
  const std::vector<WaitStep> circle = graph.circle(stuck, worker_of_actor);
  ASSERT_EQ(circle.size(), 2u);
  for (const WaitStep& step : circle) EXPECT_NE(step.key.process, kC);
  EXPECT_EQ(graph.youngest(circle), (WaitKey{kB, 1}));
}

TEST(WaitGraph, LongCirclesAreFound) {
  WaitGraph graph;
  constexpr ProcessId kActors = 50;
  for (ProcessId i = 0; i < kActors; ++i) {
    EXPECT_TRUE(stuck_in(graph).empty());
    graph.add({100 + i, 1},
              wait_of(call(i == 0 ? kDriver : 99 + i, 1), {sent_to(100 + (i + 1) % kActors, call(100 + i, 1))}));
  }
  EXPECT_EQ(graph.circle(stuck_in(graph), worker_of_actor).size(), kActors);
}

TEST(WaitGraph, AnActorWithoutAProcessMayGetOne) {
  WaitGraph graph;
  graph.add({kA, 1}, wait_of(call(kDriver, 1), {sent_to(kA, call(kA, 1))}));
  EXPECT_TRUE(graph.stuck([](const ActorId&) { return ProcessId{0}; }).empty());
}

TEST(WaitGraph, WhatNothingIsKnownOfMayCome) {
  WaitGraph graph;
  graph.add({kA, 1}, wait_of(call(kDriver, 1), {{call(5, 5), {}, ""}}));
  EXPECT_TRUE(stuck_in(graph).empty());
}

TEST(WaitGraph, AProcessThatLeavesTakesItsWaitsAlong) {
  WaitGraph graph;
  graph.add({kA, 1}, wait_of(call(kDriver, 1), {sent_to(kB, call(kA, 1))}));
  graph.add({kA, 2}, wait_of(call(kDriver, 2), {sent_to(kB, call(kA, 2))}));
  EXPECT_TRUE(graph.remove_process(kA));
  EXPECT_FALSE(graph.remove_process(kA));
  EXPECT_EQ(graph.size(), 0u);
}

}  // namespace
}  // namespace fray::actor
