// Clients and actors of the ActorWorld.
#include <iterator>

#include "actor/sim/actor_world.h"

namespace fray::actor {

ProcessId ActorWorld::add_client(bool driver, ProcessId root) {
  const ProcessId id = next_process_++;
  Process& client = processes_[id];
  client.is_driver = driver;
  client.root = driver ? id : root;
  client.to_do = 4 + random_.below(12);
  table_.client_joined(id);
  return id;
}

void ActorWorld::act(ProcessId id) {
  Process& process = at(id);
  const std::uint32_t choice = random_.below(12);
  if (choice <= 2 && actors_left_ > 0) {
    --actors_left_;
    ActorSpec spec = draw_spec(id);
    const ActorId actor = spec.id;
    process.up.push_back({Kind::kCreate, actor, 0, std::move(spec), {}});
    return;
  }
  if (choice == 3) return process.up.push_back({Kind::kFind, {}, 0, {}, draw_name()});
  if (process.handles.empty()) return;
  const ActorId actor = *std::next(process.handles.begin(), random_.below(process.handles.size()));
  if (choice <= 6) {
    process.up.push_back({Kind::kConnect, actor, 0, {}, {}});
  } else if (choice <= 8) {
    hand_on(id, actor);
  } else if (choice <= 10) {
    process.handles.erase(actor);
    process.up.push_back({Kind::kDrop, actor, 0, {}, {}});
  } else {
    process.up.push_back({random_.percent(50) ? Kind::kKill : Kind::kKillForRestart, actor, 0, {}, {}});
  }
}

ActorSpec ActorWorld::draw_spec(ProcessId id) {
  ActorSpec spec;
  spec.id = {.epoch = 7, .owner = id, .sequence = ++sequence_};
  spec.home = next_process_++;
  spec.root = at(id).root;
  spec.creator = id;
  spec.class_name = "Counter";
  if (random_.percent(50)) {
    spec.name = draw_name();
    spec.get_if_exists = random_.percent(60);
    spec.detached = random_.percent(25);
  }
  constexpr std::int32_t kRestarts[] = {0, 0, 1, 2, 5, ActorSpec::kNoRestartLimit};
  spec.max_restarts = kRestarts[random_.below(std::size(kRestarts))];
  constexpr std::uint32_t kPercents[] = {0, 0, 0, 20, 80};
  natures_[spec.id] = {.raises = kPercents[random_.below(4)], .dies = kPercents[random_.below(5)]};
  return spec;
}

std::string ActorWorld::draw_name() { return std::string(1, static_cast<char>('a' + random_.below(3))); }

// To a process that lives; what it holds is known to the node at once.
void ActorWorld::hand_on(ProcessId id, ActorId actor) {
  std::vector<ProcessId> others;
  for (const auto& [other, process] : processes_) {
    if (other != id && process.alive && (!process.is_worker || process.phase == Phase::kServing))
      others.push_back(other);
  }
  if (others.empty() || !holders_[actor].contains(id)) return;
  const ProcessId other = others[random_.below(others.size())];
  if (at(other).handles.insert(actor).second) holders_[actor].insert(other);
}

void ActorWorld::read_down(ProcessId id) {
  Process& process = at(id);
  const Message message = std::move(process.down.front());
  process.down.pop_front();
  switch (message.kind) {
    case Kind::kGot:
      process.handles.insert(message.actor);
      return;
    case Kind::kStart:
      process.phase = Phase::kConstructing;
      process.incarnation = message.incarnation;
      return;
    case Kind::kEnd:
      return kill(id);
    default:
      throw SimulationViolation("a process got a message that is not for it");
  }
}

bool ActorWorld::has_work(const Process& process) const { return process.phase == Phase::kConstructing; }

void ActorWorld::work(ProcessId id) {
  Process& worker = at(id);
  const Nature& nature = natures_.at(worker.hosts);
  if (random_.percent(nature.dies)) return kill(id);
  worker.phase = Phase::kServing;
  if (random_.percent(nature.raises))
    return worker.up.push_back({Kind::kRaised, worker.hosts, worker.incarnation, {}, {}});
  worker.up.push_back({Kind::kConstructed, worker.hosts, worker.incarnation, {}, {}});
  worker.to_do = random_.below(5);
  if (random_.percent(nature.dies / 2)) kill(id);
}

void ActorWorld::kill(ProcessId id) {
  Process& process = at(id);
  if (!process.alive) return;
  process.alive = false;
  process.to_do = 0;
  process.phase = Phase::kIdle;
  process.down.clear();
  process.handles.clear();
}

}  // namespace fray::actor
