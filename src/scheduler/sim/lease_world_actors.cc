// Actors of the LeaseWorld: homes and the workers that host them.
#include <utility>

#include "scheduler/sim/lease_world.h"
#include "scheduler/wait_reasons.h"

namespace fray::scheduler {

std::vector<ProcessId> LeaseWorld::living_roots() const {
  std::vector<ProcessId> roots;
  for (const auto& [id, process] : processes_) {
    if (process.driver && !process.noticed) roots.push_back(id);
  }
  return roots;
}

void LeaseWorld::create_actor() {
  --actors_to_come_;
  const std::vector<ProcessId> roots = living_roots();
  const ProcessId home = next_process_++;
  const std::uint32_t shape = random_.below(shapes_.size() + 4);
  Actor& actor = actors_[home];
  actor.root = random_.percent(80) ? roots[random_.below(roots.size())] : 0;
  // Most actors ask for nothing, of one key or the other.
  const bool any_shape = shape < shapes_.size();
  const std::uint32_t chosen = any_shape ? shape : random_.percent(50) ? 2 : plain_of_other_key_;
  const std::uint32_t depth = random_.below(3);
  actor.demand = number_of(chosen, depth, random_.below(std::size(kPriorities)));
  actor.restarts = random_.below(3);
  table_.client_joined(home, actor.root);
  ask_for_worker(home);
}

void LeaseWorld::ask_for_worker(ProcessId home) {
  const std::uint32_t demand = actors_.at(home).demand;
  undecided_ = true;
  table_.demand_changed(home, {.demand = demand, .count = 1, .shape = shape_of(demand), .dedicated = true});
}

void LeaseWorld::host(ProcessId home, LeaseId lease, ProcessId worker) {
  actors_.at(home).lease = lease;
  Process& hosting = at(worker);
  hosting.hosts = home;
  hosting.children.clear();
  if (hosting.alive) hosting.to_submit = random_.below(4);
}

void LeaseWorld::lose_worker(ProcessId home) {
  Actor& actor = actors_.at(home);
  actor.lease = 0;
  if (actor.over) return;
  if (actor.restarts == 0) return end_actor(home);
  --actor.restarts;
  ask_for_worker(home);
}

void LeaseWorld::end_actor(ProcessId home) {
  if (std::exchange(actors_.at(home).over, true)) return;
  undecided_ = true;
  table_.client_left(home);
}

void LeaseWorld::end_actors_of(ProcessId root) {
  for (const auto& [home, actor] : actors_) {
    if (actor.root == root) end_actor(home);
  }
}

bool LeaseWorld::break_actor() {
  std::vector<ProcessId> living;
  for (const auto& [home, actor] : actors_) {
    if (!actor.over) living.push_back(home);
  }
  if (living.empty()) return false;
  const ProcessId home = living[random_.below(living.size())];
  Actor& actor = actors_.at(home);
  undecided_ = true;
  if (actor.lease == 0 || random_.percent(40)) {
    log_.fault("actor killed");
    end_actor(home);
  } else if (random_.percent(50)) {
    log_.fault("actor killed, may restart");
    table_.lease_kill_asked(home, actor.lease);
  } else {
    log_.fault("actor told to end");
    actor.restarts = 0;
    table_.lease_returned(home, actor.lease);
    if (random_.percent(30)) table_.lease_returned(home, actor.lease);
  }
  return true;
}

bool LeaseWorld::actor_can_go_on(const Process& process) const {
  return process.blocked ? children_ended(process) : process.waiting || !process.children.empty();
}

void LeaseWorld::go_on_as_actor(ProcessId id) {
  Process& worker = at(id);
  if (worker.blocked) {
    worker.blocked = worker.waiting = false;
    worker.children.clear();
    worker.up.push_back({Kind::kUnblocked});
  } else if (!worker.waiting) {
    worker.waiting = random_.percent(70);
    if (!worker.waiting) worker.children.clear();  // it does not ask for the results
  } else if (children_ended(worker)) {
    worker.waiting = false;
    worker.children.clear();
  } else {
    worker.blocked = true;
    worker.up.push_back({Kind::kBlocked});
  }
}

// What an actor holds it holds for its life, so what waits for that may wait until it ends.
bool LeaseWorld::end_an_actor_with_resources() {
  for (const auto& [home, actor] : actors_) {
    if (actor.over || shape_of(actor.demand).resources.empty()) continue;
    end_actor(home);
    return true;
  }
  return false;
}

// At rest an actor has its worker, unless its resources are not there, or are kept for a demand before it.
void LeaseWorld::check_actors() const {
  for (const auto& [home, actor] : actors_) {
    const ResourceSet resources = shape_of(actor.demand).resources;
    if (actor.over || actor.lease != 0 || !table_.table().free().covers(resources)) continue;
    if (asks_for_devices(resources) && !table_.table().state().devices.fits(resources)) continue;
    if (!resources.empty() && table_.table().state().demands.all().size() > 1) continue;
    throw SimulationViolation(
        fmt::format("actor {} has no worker: {}", home, why_waiting(table_.table().state(), home).text));
  }
}

}  // namespace fray::scheduler
