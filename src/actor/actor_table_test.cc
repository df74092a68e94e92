#include "actor/actor_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fray::actor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr ProcessId kAnn = 1;  // drivers
constexpr ProcessId kBob = 2;
constexpr ProcessId kTask = 3;  // a worker of Ann's, as a client
constexpr ProcessId kHome = 50;
constexpr ProcessId kWorker = 100;
constexpr Moment kNow = seconds(1000);

ActorId id(std::uint64_t sequence) { return {.epoch = 7, .owner = kAnn, .sequence = sequence}; }

ActorSpec spec(std::uint64_t sequence, std::optional<std::string> name = std::nullopt) {
  ActorSpec spec;
  spec.id = id(sequence);
  spec.home = kHome + static_cast<ProcessId>(sequence);
  spec.root = kAnn;
  spec.creator = kTask;
  spec.name = std::move(name);
  spec.class_name = "Counter";
  return spec;
}

ActorSpec restarting(std::int32_t max_restarts) {
  ActorSpec asked = spec(1);
  asked.max_restarts = max_restarts;
  return asked;
}

class ActorTableTest : public testing::Test {
 protected:
  ActorTableTest() {
    for (ProcessId client : {kAnn, kBob, kTask}) table.client_joined(client);
  }

  ActorId create(ActorSpec asked) {
    Result<ActorId> created = table.create(std::move(asked));
    EXPECT_TRUE(created.is_ok()) << created.status().message();
    return created.is_ok() ? *created : ActorId{};
  }
  // Up to the living actor; its worker is kWorker. The commands on the way are dropped.
  ActorId live(ActorSpec asked) {
    const ActorId actor = create(std::move(asked));
    come_alive(actor, kWorker);
    table.take_commands();
    return actor;
  }
  void come_alive(ActorId actor, ProcessId worker, Moment now = kNow) {
    table.granted(actor, worker);
    table.constructed(actor, table.view(actor)->incarnation, now);
  }
  std::vector<Command> take() { return table.take_commands(); }
  template <typename Wanted>
  std::vector<Wanted> take_only() {
    std::vector<Wanted> chosen;
    for (const Command& command : table.take_commands()) {
      if (const auto* found = std::get_if<Wanted>(&command)) chosen.push_back(*found);
    }
    return chosen;
  }
  ActorState state(ActorId actor) { return table.view(actor)->state; }
  Death death(ActorId actor) { return table.view(actor)->death; }

  ActorTable table;
};

using Commands = std::vector<Command>;

TEST_F(ActorTableTest, ActorGetsAWorkerThenItsConstructorThenItsClients) {
  const ActorId actor = create(spec(1));
  EXPECT_EQ(take(), (Commands{RequestWorker{actor, kHome + 1}}));
  table.connect(kBob, actor);
  table.connect(kAnn, actor);
  table.granted(actor, kWorker);
  EXPECT_EQ(take(), (Commands{StartActor{actor, kWorker, 1}}));
  table.connect(kBob, actor);
  EXPECT_TRUE(take().empty());
  table.constructed(actor, 1, kNow);
  EXPECT_EQ(take(), (Commands{Connect{kBob, actor, kWorker, 1}, Connect{kAnn, actor, kWorker, 1}}))
      << "in the order of asking, each once";
  table.connect(kTask, actor);
  EXPECT_EQ(take(), (Commands{Connect{kTask, actor, kWorker, 1}}));
  EXPECT_EQ(table.contradictions(), 0u);
}

TEST_F(ActorTableTest, KilledActorTellsItsClientsAndClosesItsHomeWhenTheProcessIsGone) {
  const ActorId actor = live(spec(1));
  table.connect(kBob, actor);
  take();
  table.kill(actor, true);
  const Death killed{DeathCause::kKilled, StatusCode::kCancelled, "it was killed by kill()"};
  EXPECT_EQ(take(), (Commands{ReportDead{kBob, actor, killed}, KillWorker{actor, kWorker}}));
  EXPECT_EQ(state(actor), ActorState::kEnding);
  table.connect(kAnn, actor);
  EXPECT_EQ(take(), (Commands{ReportDead{kAnn, actor, killed}}));
  table.kill(actor, true);
  EXPECT_TRUE(take().empty()) << "killed once";
  table.worker_lost(actor, kWorker, "signal 9", kNow);
  EXPECT_EQ(take(), (Commands{CloseHome{actor, kHome + 1}}));
  EXPECT_EQ(state(actor), ActorState::kDead);
  table.forgotten(actor);
  EXPECT_EQ(take(), (Commands{Forget{actor}}));
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.contradictions(), 0u);
}

TEST_F(ActorTableTest, ActorKilledBeforeItHasAWorkerIsDeadAtOnce) {
  const ActorId actor = create(spec(1));
  take();
  table.kill(actor, true);
  EXPECT_EQ(take(), (Commands{CloseHome{actor, kHome + 1}}));
  table.granted(actor, kWorker);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(table.contradictions(), 1u);
}

TEST_F(ActorTableTest, ConstructorThatRaisesEndsTheActorWithoutARestart) {
  const ActorId actor = create(restarting(-1));
  table.connect(kBob, actor);
  table.granted(actor, kWorker);
  take();
  table.constructor_raised(actor, 1, "ValueError: no such file");
  const Death raised{DeathCause::kConstructorRaised, StatusCode::kUnavailable,
                     "its constructor raised ValueError: no such file"};
  EXPECT_EQ(take(), (Commands{ReportDead{kBob, actor, raised}, EndWorker{actor, kWorker}}));
  table.worker_lost(actor, kWorker, "exit code 0", kNow);
  EXPECT_EQ(take(), (Commands{CloseHome{actor, kHome + 1}}));
}

TEST_F(ActorTableTest, LostWorkerIsReplacedAtOnceAndClientsAreConnectedAnew) {
  const ActorId actor = live(restarting(1));
  table.connect(kBob, actor);
  table.connect(kAnn, actor);
  take();
  table.worker_lost(actor, kWorker, "signal 9", kNow);
  EXPECT_EQ(take(),
            (Commands{ReportLost{kBob, actor, 1}, ReportLost{kAnn, actor, 1}, RequestWorker{actor, kHome + 1}}));
  table.granted(actor, kWorker + 1);
  EXPECT_EQ(take(), (Commands{StartActor{actor, kWorker + 1, 2}}));
  table.constructed(actor, 2, kNow);
  EXPECT_EQ(take(), (Commands{Connect{kBob, actor, kWorker + 1, 2}, Connect{kAnn, actor, kWorker + 1, 2}}));
}

TEST_F(ActorTableTest, ActorWithoutRestartsLeftDiesWithHowItsProcessEnded) {
  const ActorId actor = live(restarting(1));
  table.connect(kBob, actor);
  table.worker_lost(actor, kWorker, "signal 9", kNow);
  come_alive(actor, kWorker + 1);
  take();
  table.worker_lost(actor, kWorker + 1, "exit code 3; last output: no disk", kNow);
  const Death died{DeathCause::kWorkerDied, StatusCode::kWorkerDied,
                   "its process died, and max_restarts is 1: exit code 3; last output: no disk"};
  EXPECT_EQ(take(), (Commands{ReportDead{kBob, actor, died}, CloseHome{actor, kHome + 1}}));
}

TEST_F(ActorTableTest, CallersAreToldWhenItsProcessWasKilledForItsMemory) {
  const ActorId actor = live(restarting(1));
  table.connect(kBob, actor);
  take();
  table.worker_lost(actor, kWorker, "signal 9", kNow, StatusCode::kWorkerOutOfMemory);
  EXPECT_EQ(take(),
            (Commands{ReportLost{kBob, actor, 1, StatusCode::kWorkerOutOfMemory}, RequestWorker{actor, kHome + 1}}));
  come_alive(actor, kWorker + 1);
  take();
  table.worker_lost(actor, kWorker + 1, "signal 9", kNow, StatusCode::kWorkerOutOfMemory);
  EXPECT_EQ(table.view(actor)->death.code, StatusCode::kWorkerOutOfMemory);
}

TEST_F(ActorTableTest, ConstructorThatAlwaysDiesBacksOff) {
  const ActorId actor = create(restarting(-1));
  Moment now = kNow;
  std::vector<std::int64_t> waits;
  for (ProcessId worker = kWorker; worker < kWorker + 10; ++worker) {
    table.granted(actor, worker);
    table.worker_lost(actor, worker, "exit code 1", now);
    const Moment due = table.next_due().value_or(now);
    waits.push_back(std::chrono::duration_cast<milliseconds>(due - now).count());
    take();
    table.tick(due - Moment(1));
    if (due > now) {
      EXPECT_EQ(state(actor), ActorState::kBackingOff);
    }
    now = due;
    table.tick(now);
    EXPECT_EQ(state(actor), ActorState::kPending);
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{0, 100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000}));
  EXPECT_FALSE(table.next_due());
}

TEST_F(ActorTableTest, BackingOffSaysWhyAndTellsNobodyWhoWasNotConnected) {
  const ActorId actor = create(restarting(-1));
  table.connect(kBob, actor);
  for (ProcessId worker : {kWorker, kWorker + 1}) {
    table.granted(actor, worker);
    table.worker_lost(actor, worker, "exit code 1", kNow);
  }
  EXPECT_TRUE(take_only<ReportLost>().empty());
  EXPECT_EQ(table.view(actor)->reason, "waits before restart 2: exit code 1");
  EXPECT_EQ(table.view(actor)->due, kNow + milliseconds(100));
}

TEST_F(ActorTableTest, ActorThatLivedForAWhileRestartsAtOnceAgain) {
  const ActorId actor = live(restarting(-1));
  table.worker_lost(actor, kWorker, "", kNow);
  come_alive(actor, kWorker + 1, kNow);
  table.worker_lost(actor, kWorker + 1, "", kNow + RestartPolicy::kSteady);
  EXPECT_EQ(state(actor), ActorState::kPending);
  come_alive(actor, kWorker + 2, kNow);
  table.worker_lost(actor, kWorker + 2, "", kNow + RestartPolicy::kSteady - Moment(1));
  EXPECT_EQ(state(actor), ActorState::kBackingOff);
}

TEST_F(ActorTableTest, KillThatAllowsARestartUsesOneAndDoesNotBackOff) {
  const ActorId actor = live(restarting(2));
  for (ProcessId worker : {kWorker, kWorker + 1}) {
    table.kill(actor, false);
    table.kill(actor, false);
    EXPECT_EQ(take_only<KillWorker>().size(), 1u);
    table.worker_lost(actor, worker, "signal 9", kNow);
    EXPECT_EQ(state(actor), ActorState::kPending);
    table.kill(actor, false);
    EXPECT_EQ(take(), (Commands{RequestWorker{actor, kHome + 1}})) << "nothing to kill yet";
    come_alive(actor, worker + 1);
    take();
  }
  table.kill(actor, false);
  table.worker_lost(actor, kWorker + 2, "signal 9", kNow);
  EXPECT_EQ(death(actor).text, "it was killed by kill(), and max_restarts is 2");
}

TEST_F(ActorTableTest, NameIsTakenWhileItsActorLivesAndFreeTheMomentItIsDead) {
  const ActorId first = live(spec(1, "counter"));
  Result<ActorId> second = table.create(spec(2, "counter"));
  ASSERT_FALSE(second.is_ok());
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(
      second.status().message(),
      "the name \"counter\" in the namespace \"default\" is taken by an actor of class Counter (alive, created by "
      "process 3): choose another name, or get_if_exists, or kill that one");
  ActorSpec elsewhere = spec(3, "counter");
  elsewhere.name_space = "other";
  create(elsewhere);
  table.kill(first, true);
  EXPECT_EQ(table.find("default", "counter").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(create(spec(2, "counter")), id(2));
  EXPECT_EQ(*table.find("default", "counter"), id(2));
  table.worker_lost(first, kWorker, "", kNow);
  EXPECT_EQ(*table.find("default", "counter"), id(2)) << "the old one does not take the name along";
}

TEST_F(ActorTableTest, AnActorWithoutANameIsFoundByItsId) {
  create(spec(1, std::nullopt));
  EXPECT_EQ(*table.find(id(1)), id(1));
  EXPECT_EQ(table.find(id(2)).status().code(), StatusCode::kNotFound);
}

TEST_F(ActorTableTest, GetIfExistsAnswersTheLivingActorInWhateverStateItIs) {
  ActorSpec asked = spec(1, "status");
  asked.get_if_exists = true;
  EXPECT_EQ(create(asked), id(1));
  ActorSpec again = spec(2, "status");
  again.get_if_exists = true;
  EXPECT_EQ(create(again), id(1));
  table.granted(id(1), kWorker);
  table.constructor_raised(id(1), 1, "OSError");
  EXPECT_EQ(create(again), id(2)) << "the name is free again";
}

TEST_F(ActorTableTest, RefusesWhatCannotBe) {
  const auto refusal = [this](const ActorSpec& asked) {
    Result<ActorId> created = table.create(asked);
    return created.is_ok() ? std::string("created") : created.status().message();
  };
  EXPECT_EQ(refusal(spec(1, "")), "the actor's name is empty: give 1 to 256 bytes of text without control characters");
  EXPECT_THAT(refusal(spec(1, std::string(257, 'x'))), HasSubstr("the actor's name has 257 bytes: "));
  EXPECT_THAT(refusal(spec(1, "a\nb")), HasSubstr("has the control character U+000A at byte 1: "));
  EXPECT_THAT(refusal(spec(1, "a\xC2\x85")), HasSubstr("has the control character U+0085 at byte 1: "));
  for (std::string bad : {"\xFF", "\xC0\x80", "\xED\xA0\x80", "\xE2\x82", "\xF5\x80\x80\x80", "\x80"}) {
    EXPECT_THAT(refusal(spec(1, bad)), HasSubstr("is not UTF-8 at byte 0: "));
  }
  EXPECT_EQ(refusal(spec(1, "z\xC3\xA4hler \xF0\x9F\x99\x82")), "created");
  ActorSpec asked = spec(2);
  asked.name_space = "a\tb";
  EXPECT_THAT(refusal(asked), HasSubstr("the namespace has the control character U+0009"));
  asked = spec(2);
  asked.detached = true;
  EXPECT_EQ(refusal(asked), "a detached actor needs a name: nobody could find it again");
  asked = spec(2);
  asked.get_if_exists = true;
  EXPECT_EQ(refusal(asked), "get_if_exists needs a name");
  EXPECT_EQ(refusal(restarting(-2)), "max_restarts is -2: give 0 or more, or -1 for no limit");
  asked = spec(2);
  asked.root = 99;
  EXPECT_EQ(refusal(asked), "the program that the actor would belong to has ended");
  EXPECT_EQ(table.contradictions(), 0u);
  EXPECT_EQ(refusal(spec(1)), "this actor, or its home, exists already");
  EXPECT_EQ(table.contradictions(), 1u);
  EXPECT_EQ(table.size(), 1u);
}

TEST_F(ActorTableTest, UnknownNamesAreAnsweredWithNearOnes) {
  create(spec(1, "counter"));
  create(spec(2, "Status"));
  ActorSpec elsewhere = spec(3, "queue");
  elsewhere.name_space = "other";
  create(elsewhere);
  const auto message = [this](std::string_view name_space, std::string_view name) {
    return table.find(name_space, name).status().message();
  };
  EXPECT_EQ(message("default", "contuer"),
            "no living actor is named \"contuer\" in the namespace \"default\"; near to it: \"counter\"");
  EXPECT_THAT(message("default", "STATUS"), HasSubstr("near to it: \"Status\""));
  EXPECT_THAT(message("default", "queue"), HasSubstr("; there is one in the namespace \"other\""));
  EXPECT_THAT(message("default", "zebra"), HasSubstr(", which has 2 named actors"));
  EXPECT_THAT(message("nowhere", "zebra"), HasSubstr(", which has 0 named actors"));
  EXPECT_THAT(message("default", ""), HasSubstr("is empty"));
  EXPECT_EQ(table.named("default"),
            (std::vector<NamedActor>{{"default", "Status", id(2)}, {"default", "counter", id(1)}}));
  EXPECT_EQ(table.named(std::nullopt).size(), 3u);
}

TEST_F(ActorTableTest, ActorOutlivesItsCreatorAndEndsWithItsRoot) {
  const ActorId actor = live(spec(1, "shared"));
  table.client_left(kTask);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(state(actor), ActorState::kAlive);
  table.client_left(kAnn);
  EXPECT_EQ(take(), (Commands{KillWorker{actor, kWorker}}));
  EXPECT_EQ(death(actor).cause, DeathCause::kRootGone);
  EXPECT_FALSE(table.create(spec(2)).is_ok()) << "nothing begins in a program that has ended";
}

TEST_F(ActorTableTest, DetachedActorOutlivesItsRoot) {
  ActorSpec asked = spec(1, "shared");
  asked.detached = true;
  const ActorId actor = live(asked);
  table.client_left(kAnn);
  table.unreferenced(actor);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(*table.find("default", "shared"), actor);
}

TEST_F(ActorTableTest, WhatADetachedActorCreatesEndsWithIt) {
  ActorSpec asked = spec(1, "shared");
  asked.detached = true;
  const ActorId parent = live(asked);
  ActorSpec inner = spec(2);
  inner.root = asked.home;
  const ActorId child = create(inner);
  table.client_left(kAnn);
  EXPECT_EQ(state(child), ActorState::kPending);
  take();
  table.kill(parent, true);
  table.worker_lost(parent, kWorker, "", kNow);
  EXPECT_EQ(take_only<CloseHome>(), (std::vector<CloseHome>{{parent, kHome + 1}, {child, kHome + 2}}));
  EXPECT_EQ(death(child).cause, DeathCause::kRootGone);
}

TEST_F(ActorTableTest, UnreferencedActorFinishesWhatItHasUnlessItIsNamed) {
  const ActorId actor = live(spec(1));
  table.unreferenced(actor);
  EXPECT_EQ(take(), (Commands{EndWorker{actor, kWorker}}));
  EXPECT_EQ(table.view(actor)->reason, "finishes what it has");
  const ActorId named = create(spec(2, "named"));
  take();
  table.unreferenced(named);
  EXPECT_TRUE(take().empty());
}

TEST_F(ActorTableTest, EndOfTheRootKillsAnActorThatIsStillFinishing) {
  const ActorId actor = live(spec(1));
  table.unreferenced(actor);
  take();
  table.client_left(kAnn);
  EXPECT_EQ(take(), (Commands{KillWorker{actor, kWorker}}));
  EXPECT_EQ(death(actor).cause, DeathCause::kUnreferenced) << "the first cause stays";
}

TEST_F(ActorTableTest, UnreferencedActorThatWaitsForAWorkerIsDeadAtOnce) {
  const ActorId actor = create(spec(1));
  take();
  table.unreferenced(actor);
  EXPECT_EQ(take(), (Commands{CloseHome{actor, kHome + 1}}));
}

TEST_F(ActorTableTest, ActorWhoseWorkersCannotStartIsDeadWithTheReason) {
  const ActorId actor = create(spec(1));
  table.connect(kBob, actor);
  take();
  table.refused(actor, StatusCode::kUnavailable, "no worker could be had for it");
  const Death refused{DeathCause::kCannotStart, StatusCode::kUnavailable, "no worker could be had for it"};
  EXPECT_EQ(take(), (Commands{ReportDead{kBob, actor, refused}, CloseHome{actor, kHome + 1}}));
}

TEST_F(ActorTableTest, LeavingClientIsConnectedToNobody) {
  const ActorId actor = live(restarting(1));
  table.connect(kBob, actor);
  table.connect(kTask, actor);
  take();
  table.client_left(kBob);
  table.client_left(kTask);
  table.worker_lost(actor, kWorker, "", kNow);
  EXPECT_EQ(take(), (Commands{RequestWorker{actor, kHome + 1}}));
}

TEST_F(ActorTableTest, ForgottenActorIsForgottenOnceItIsDead) {
  const ActorId actor = live(spec(1));
  table.forgotten(actor);
  EXPECT_EQ(take(), (Commands{EndWorker{actor, kWorker}}));
  table.worker_lost(actor, kWorker, "", kNow);
  EXPECT_EQ(take(), (Commands{CloseHome{actor, kHome + 1}, Forget{actor}}));
  table.connect(kBob, actor);
  const auto reports = take_only<ReportDead>();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].death.cause, DeathCause::kUnknown);
}

TEST_F(ActorTableTest, NamedActorFoundAgainAfterItsLastHandleWentKeepsItsDeath) {
  const ActorId actor = live(spec(1, "named"));
  table.forgotten(actor);
  EXPECT_TRUE(take().empty()) << "it lives on by its name";
  EXPECT_EQ(*table.find("default", "named"), actor);
  table.kill(actor, true);
  table.worker_lost(actor, kWorker, "", kNow);
  EXPECT_TRUE(take_only<Forget>().empty());
  EXPECT_EQ(death(actor).cause, DeathCause::kKilled);
}

TEST_F(ActorTableTest, LateMessagesOfAnOldIncarnationChangeNothing) {
  const ActorId actor = live(restarting(-1));
  table.worker_lost(actor, kWorker, "", kNow);
  table.granted(actor, kWorker + 1);
  take();
  table.constructed(actor, 1, kNow);
  table.constructor_raised(actor, 1, "late");
  table.worker_lost(actor, kWorker, "", kNow);
  table.granted(actor, kWorker + 2);
  table.refused(actor, StatusCode::kUnavailable, "late");
  EXPECT_EQ(table.contradictions(), 5u);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(state(actor), ActorState::kStarting);
  table.constructed(actor, 2, kNow);
  table.constructed(actor, 2, kNow);
  table.constructor_raised(actor, 2, "late");
  EXPECT_EQ(table.contradictions(), 7u);
}

TEST_F(ActorTableTest, WorkerHostsOneActorAtATime) {
  live(spec(1));
  const ActorId other = create(spec(2));
  table.granted(other, kWorker);
  EXPECT_EQ(table.contradictions(), 1u);
  EXPECT_EQ(state(other), ActorState::kPending);
  EXPECT_EQ(table.actor_of_worker(kWorker), id(1));
  EXPECT_EQ(table.actor_of_home(kHome + 2), other);
}

TEST_F(ActorTableTest, EventsOfStrangersChangeNothing) {
  const ActorId stranger = id(77);
  table.client_joined(kAnn);
  table.client_left(99);
  table.connect(99, stranger);
  table.kill(stranger, true);
  table.unreferenced(stranger);
  table.forgotten(stranger);
  table.granted(stranger, kWorker);
  table.refused(stranger, StatusCode::kUnavailable, "");
  table.constructed(stranger, 1, kNow);
  table.constructor_raised(stranger, 1, "");
  table.worker_lost(stranger, kWorker, "", kNow);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(table.contradictions(), 11u);
}

TEST_F(ActorTableTest, ViewsShowEveryActorWithWhatItWaitsFor) {
  const ActorId living = live(spec(1, "first"));
  create(spec(2));
  const std::vector<ActorView> rows = table.views();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].id, living);
  EXPECT_EQ(rows[0].worker, kWorker);
  EXPECT_EQ(rows[0].reason, "");
  EXPECT_EQ(rows[1].reason, "waits for a worker");
  EXPECT_EQ(to_string(rows[1].state), "pending");
  table.granted(id(2), kWorker + 1);
  EXPECT_EQ(table.view(id(2))->reason, "its constructor runs");
  EXPECT_FALSE(table.view(id(9)));
  EXPECT_EQ(table.spec(id(2))->creator, kTask);
}

}  // namespace
}  // namespace fray::actor
