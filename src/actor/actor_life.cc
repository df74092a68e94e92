// An actor's life: from the request for a worker over its incarnations to its death.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actor/actor_table.h"

namespace fray::actor {

ActorTable::Actor* ActorTable::entry(ActorId actor) {
  auto found = actors_.find(actor);
  if (found != actors_.end()) return &found->second;
  contradict();
  return nullptr;
}

ActorTable::Actor* ActorTable::running(ActorId id, std::uint32_t incarnation) {
  auto found = actors_.find(id);
  if (found != actors_.end() && found->second.incarnation == incarnation) {
    const ActorState state = found->second.state;
    if (state == ActorState::kStarting || state == ActorState::kAlive) return &found->second;
  }
  contradict();
  return nullptr;
}

void ActorTable::pend(Actor& actor) {
  actor.state = ActorState::kPending;
  commands_.emplace_back(RequestWorker{.actor = actor.spec.id, .home = actor.spec.home});
}

void ActorTable::granted(ActorId id, ProcessId worker) {
  Actor* actor = entry(id);
  if (actor == nullptr) return;
  if (actor->state != ActorState::kPending || worker == 0 || workers_.contains(worker)) return contradict();
  workers_[worker] = id;
  actor->worker = worker;
  actor->state = ActorState::kStarting;
  commands_.emplace_back(StartActor{.actor = id, .worker = worker, .incarnation = ++actor->incarnation});
}

void ActorTable::refused(ActorId id, StatusCode code, std::string_view reason) {
  Actor* actor = entry(id);
  if (actor == nullptr) return;
  if (actor->state != ActorState::kPending) return contradict();
  end(*actor, {DeathCause::kCannotStart, code, std::string(reason)}, false);
}

void ActorTable::constructed(ActorId id, std::uint32_t incarnation, Moment now) {
  Actor* actor = running(id, incarnation);
  if (actor == nullptr) return;
  if (actor->state != ActorState::kStarting) return contradict();
  actor->state = ActorState::kAlive;
  actor->policy.constructed(now);
  for (ProcessId client : actor->clients) {
    commands_.emplace_back(Connect{.client = client, .actor = id, .worker = actor->worker, .incarnation = incarnation});
  }
}

void ActorTable::constructor_raised(ActorId id, std::uint32_t incarnation, std::string_view exception) {
  Actor* actor = running(id, incarnation);
  if (actor == nullptr) return;
  if (actor->state != ActorState::kStarting) return contradict();
  end(*actor,
      {DeathCause::kConstructorRaised, StatusCode::kUnavailable, fmt::format("its constructor raised {}", exception)},
      false);
}

void ActorTable::worker_lost(ActorId id, ProcessId worker, std::string_view how, Moment now, StatusCode code) {
  Actor* actor = entry(id);
  if (actor == nullptr) return;
  if (worker == 0 || actor->worker != worker) return contradict();
  workers_.erase(worker);
  actor->worker = 0;
  if (actor->state == ActorState::kEnding) return bury(*actor);
  const bool was_alive = actor->state == ActorState::kAlive;
  const bool killed = std::exchange(actor->kill_asked, false);
  actor->last_exit = how;
  const std::optional<Moment> due = actor->policy.worker_lost(now, killed);
  if (!due) {
    const std::string spent = fmt::format("max_restarts is {}", actor->policy.max_restarts());
    if (killed) {
      return end(*actor, {DeathCause::kKilled, StatusCode::kCancelled, "it was killed by kill(), and " + spent}, true);
    }
    return end(*actor, {DeathCause::kWorkerDied, code, fmt::format("its process died, and {}: {}", spent, how)}, true);
  }
  if (was_alive) {
    for (ProcessId client : actor->clients) {
      commands_.emplace_back(
          ReportLost{.client = client, .actor = id, .incarnation = actor->incarnation, .code = code});
    }
  }
  if (*due <= now) return pend(*actor);
  actor->state = ActorState::kBackingOff;
  actor->due = *due;
  due_.emplace(*due, id);
}

void ActorTable::tick(Moment now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const ActorId id = due_.begin()->second;
    due_.erase(due_.begin());
    pend(actors_.at(id));
  }
}

std::optional<Moment> ActorTable::next_due() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

void ActorTable::kill(ActorId id, bool no_restart) {
  Actor* actor = entry(id);
  if (actor == nullptr) return;
  if (no_restart) return end(*actor, {DeathCause::kKilled, StatusCode::kCancelled, "it was killed by kill()"}, true);
  if (actor->state == ActorState::kStarting || actor->state == ActorState::kAlive) kill_worker(*actor);
}

void ActorTable::unreferenced(ActorId id) {
  Actor* actor = entry(id);
  if (actor == nullptr || actor->spec.name || actor->death.cause != DeathCause::kNone) return;
  end(*actor, {DeathCause::kUnreferenced, StatusCode::kCancelled, "it ended when no handle to it was left"}, false);
}

void ActorTable::forgotten(ActorId id) {
  Actor* actor = entry(id);
  if (actor == nullptr) return;
  actor->unheld = true;
  if (actor->state == ActorState::kDead) return remove(id);
  unreferenced(id);
}

// If the actor is ending or dead already, its death keeps its first cause.
void ActorTable::end(Actor& actor, Death death, bool kill) {
  if (actor.state == ActorState::kDead) return;
  if (actor.state == ActorState::kEnding) {
    if (kill) kill_worker(actor);
    return;
  }
  const ActorId id = actor.spec.id;
  if (actor.spec.name) names_.release(actor.spec.name_space, *actor.spec.name);
  if (actor.state == ActorState::kBackingOff) due_.erase({actor.due, id});
  actor.state = ActorState::kEnding;
  actor.death = std::move(death);
  for (ProcessId client : std::exchange(actor.clients, {})) {
    clients_.at(client).erase(id);
    commands_.emplace_back(ReportDead{.client = client, .actor = id, .death = actor.death});
  }
  if (actor.worker == 0) return bury(actor);
  if (kill) return kill_worker(actor);
  commands_.emplace_back(EndWorker{.actor = id, .worker = actor.worker});
}

void ActorTable::kill_worker(Actor& actor) {
  if (std::exchange(actor.kill_asked, true)) return;
  commands_.emplace_back(KillWorker{.actor = actor.spec.id, .worker = actor.worker});
}

// The worker of the actor has ended, and no further one is requested.
void ActorTable::bury(Actor& actor) {
  actor.state = ActorState::kDead;
  homes_.erase(actor.spec.home);
  if (auto root = roots_.find(actor.spec.root); root != roots_.end()) {
    root->second.erase(actor.spec.id);
    if (root->second.empty()) roots_.erase(root);
  }
  const ProcessId home = actor.spec.home;
  const bool may_own = actor.spec.detached;
  commands_.emplace_back(CloseHome{.actor = actor.spec.id, .home = home});
  if (actor.unheld) remove(actor.spec.id);
  if (may_own) client_left(home);
}

void ActorTable::remove(ActorId id) {
  actors_.erase(id);
  commands_.emplace_back(Forget{.actor = id});
}

}  // namespace fray::actor
