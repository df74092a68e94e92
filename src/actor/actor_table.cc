// Requests of clients to an ActorTable: create, find, connect, kill; and the views. An actor's life is in
// actor_life.cc.
#include "actor/actor_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fray::actor {

void ActorTable::client_joined(ProcessId client) {
  if (client == 0 || !clients_.try_emplace(client).second) contradict();
}

void ActorTable::client_left(ProcessId client) {
  auto found = clients_.find(client);
  if (found == clients_.end()) return contradict();
  const std::set<ActorId> wanted = std::move(found->second);
  clients_.erase(found);
  for (ActorId actor : wanted) std::erase(actors_.at(actor).clients, client);
  const std::set<ActorId> owned = [this, client] {
    auto root = roots_.find(client);
    return root == roots_.end() ? std::set<ActorId>{} : root->second;
  }();
  for (ActorId actor : owned) {
    end(actors_.at(actor), {DeathCause::kRootGone, StatusCode::kOwnerDied, "the program that it belonged to has ended"},
        true);
  }
}

Result<ActorId> ActorTable::create(ActorSpec spec) {
  FRAY_RETURN_IF_ERROR(check(spec));
  if (spec.name) {
    if (const auto holder = names_.find(spec.name_space, *spec.name)) {
      Actor& existing = actors_.at(*holder);
      if (!spec.get_if_exists) return taken(existing);
      existing.unheld = false;
      return *holder;
    }
  }
  const ActorId id = spec.id;
  if (actors_.contains(id) || spec.home == 0 || homes_.contains(spec.home)) {
    contradict();
    return Status(StatusCode::kInvalidArgument, "this actor, or its home, exists already");
  }
  if (spec.name) names_.claim(spec.name_space, *spec.name, id);
  if (!spec.detached) roots_[spec.root].insert(id);
  if (spec.detached) clients_.try_emplace(spec.home);
  homes_[spec.home] = id;
  Actor& actor = actors_.try_emplace(id, std::move(spec)).first->second;
  actor.order = ++created_;
  pend(actor);
  return id;
}

Status ActorTable::check(const ActorSpec& spec) const {
  FRAY_RETURN_IF_ERROR(NameTable::check("the namespace", spec.name_space));
  if (spec.name) FRAY_RETURN_IF_ERROR(NameTable::check("the actor's name", *spec.name));
  const auto refuse = [](std::string text) { return Status(StatusCode::kInvalidArgument, std::move(text)); };
  if (!spec.name && spec.detached) return refuse("a detached actor needs a name: nobody could find it again");
  if (!spec.name && spec.get_if_exists) return refuse("get_if_exists needs a name");
  if (spec.max_restarts < ActorSpec::kNoRestartLimit) {
    return refuse(fmt::format("max_restarts is {}: give 0 or more, or -1 for no limit", spec.max_restarts));
  }
  if (!spec.detached && !clients_.contains(spec.root)) {
    return Status(StatusCode::kOwnerDied, "the program that the actor would belong to has ended");
  }
  return Status::ok();
}

Status ActorTable::taken(const Actor& holder) const {
  return Status(StatusCode::kAlreadyExists,
                fmt::format("the name \"{}\" in the namespace \"{}\" is taken by an actor of class {} ({}, created by "
                            "process {}): choose another name, or get_if_exists, or kill that one",
                            *holder.spec.name, holder.spec.name_space, holder.spec.class_name, to_string(holder.state),
                            holder.spec.creator));
}

Result<ActorId> ActorTable::find(std::string_view name_space, std::string_view name) {
  const auto holder = names_.find(name_space, name);
  if (!holder) {
    FRAY_RETURN_IF_ERROR(NameTable::check("the namespace", name_space));
    FRAY_RETURN_IF_ERROR(NameTable::check("the actor's name", name));
    return names_.unknown(name_space, name);
  }
  actors_.at(*holder).unheld = false;
  return *holder;
}

Result<ActorId> ActorTable::find(ActorId id) {
  auto found = actors_.find(id);
  if (found == actors_.end()) return Status(StatusCode::kNotFound, "it ended long ago, or belongs to another node");
  found->second.unheld = false;
  return id;
}

void ActorTable::connect(ProcessId client, ActorId id) {
  auto wants = clients_.find(client);
  if (wants == clients_.end()) return contradict();
  auto found = actors_.find(id);
  if (found == actors_.end()) {
    Death unknown{DeathCause::kUnknown, StatusCode::kNotFound, "it ended long ago, or belongs to another node"};
    commands_.emplace_back(ReportDead{.client = client, .actor = id, .death = std::move(unknown)});
    return;
  }
  Actor& actor = found->second;
  actor.unheld = false;
  if (actor.death.cause != DeathCause::kNone) {
    commands_.emplace_back(ReportDead{.client = client, .actor = id, .death = actor.death});
    return;
  }
  if (wants->second.insert(id).second) actor.clients.push_back(client);
  if (actor.state != ActorState::kAlive) return;
  commands_.emplace_back(
      Connect{.client = client, .actor = id, .worker = actor.worker, .incarnation = actor.incarnation});
}

std::vector<Command> ActorTable::take_commands() { return std::exchange(commands_, {}); }

// --- views
// ------------------------------------------------------------------------------------------------------------

std::string_view to_string(ActorState state) {
  switch (state) {
    case ActorState::kPending:
      return "pending";
    case ActorState::kStarting:
      return "starting";
    case ActorState::kAlive:
      return "alive";
    case ActorState::kBackingOff:
      return "backing off";
    case ActorState::kEnding:
      return "ending";
    case ActorState::kDead:
      return "dead";
  }
  return "unknown";
}

std::string ActorTable::reason(const Actor& actor) {
  switch (actor.state) {
    case ActorState::kPending:
      return "waits for a worker";
    case ActorState::kStarting:
      return "its constructor runs";
    case ActorState::kBackingOff:
      return fmt::format("waits before restart {}: {}", actor.policy.restarts(), actor.last_exit);
    case ActorState::kEnding:
      return actor.kill_asked ? "its process is being killed" : "finishes what it has";
    case ActorState::kAlive:
    case ActorState::kDead:
      break;
  }
  return {};
}

ActorView ActorTable::view_of(const Actor& actor) {
  const bool backs_off = actor.state == ActorState::kBackingOff;
  return {.id = actor.spec.id,
          .state = actor.state,
          .home = actor.spec.home,
          .root = actor.spec.root,
          .creator = actor.spec.creator,
          .name_space = actor.spec.name_space,
          .name = actor.spec.name,
          .class_name = actor.spec.class_name,
          .detached = actor.spec.detached,
          .worker = actor.worker,
          .incarnation = actor.incarnation,
          .restarts = actor.policy.restarts(),
          .max_restarts = actor.policy.max_restarts(),
          .reason = reason(actor),
          .due = backs_off ? std::optional(actor.due) : std::nullopt,
          .death = actor.death};
}

std::optional<ActorView> ActorTable::view(ActorId actor) const {
  auto found = actors_.find(actor);
  return found == actors_.end() ? std::nullopt : std::optional(view_of(found->second));
}

const ActorSpec* ActorTable::spec(ActorId actor) const {
  auto found = actors_.find(actor);
  return found == actors_.end() ? nullptr : &found->second.spec;
}

std::optional<ActorId> ActorTable::actor_of_home(ProcessId home) const {
  auto found = homes_.find(home);
  return found == homes_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ActorId> ActorTable::actor_of_worker(ProcessId worker) const {
  auto found = workers_.find(worker);
  return found == workers_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<ActorView> ActorTable::views() const {
  std::vector<const Actor*> ordered;
  for (const auto& [id, actor] : actors_) ordered.push_back(&actor);
  std::sort(ordered.begin(), ordered.end(), [](const Actor* a, const Actor* b) { return a->order < b->order; });
  std::vector<ActorView> rows;
  for (const Actor* actor : ordered) rows.push_back(view_of(*actor));
  return rows;
}

}  // namespace fray::actor
