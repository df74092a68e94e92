#include "scheduler/wait_reasons.h"

#include <utility>

#include <fmt/format.h>

#include "base/amount_text.h"
#include "model/resource_text.h"

namespace fray::scheduler {

namespace {

ResourceSet part_of(const ResourceSet& whole, const ResourceSet& asked) {
  ResourceSet part;
  for (const auto& [name, units] : asked.units()) part.set_units(name, whole.units(name));
  return part;
}

std::string amounts(const ResourceSet& set, const ResourceSet& asked) {
  std::string text;
  for (const auto& [name, units] : asked.units()) {
    if (!text.empty()) text += ", ";
    if (asked.units().size() > 1) text += name + " ";
    text += amount_text(name, set.amount(name), asked.amount(name));
  }
  return text;
}

// Its resources are there.
WaitReason reason_of_workers(const LeaseState& state, const Demand& demand) {
  const std::uint32_t most = state.limits.max_workers;
  const KeyInfo& info = state.workers.key(demand.key());
  if (state.workers.given_up(demand.key())) {
    std::string text =
        info.failures >= WorkerTable::kStartAttempts
            ? fmt::format("its workers cannot be started: the last {} starts failed", info.failures)
            : fmt::format("its workers do no work: the last {} died before their first task", info.unused_deaths);
    return {std::move(text), "It is about to fail with the reason; the node's log has what the workers wrote."};
  }
  if (info.on_their_way() > 0) return {"waits for a worker to start", "It runs as soon as the worker is ready."};
  if (state.workers.living() >= most && !demand.wanted.dedicated) {
    if (state.ledger.blocked() == state.workers.living()) {
      return {fmt::format("waits: {} workers exist, the limit, and all of them wait themselves", most),
              "Start the node with a higher --max-workers, or let tasks wait less deeply for one another."};
    }
    return {fmt::format("waits: {} workers exist, the limit", most),
            "It starts when a worker is free; --max-workers of the node allows more."};
  }
  return {fmt::format("waits for {}: what is free is kept for a demand before it", demand.asked().to_string()),
          "It starts after the tasks before it; a higher priority would put it in front."};
}

}  // namespace

WaitReason wait_reason(const LeaseState& state, const Demand& demand) {
  const LeaseLedger& ledger = state.ledger;
  const ResourceSet& asked = demand.asked();
  const ResourceSet has = part_of(ledger.total(), asked);
  if (!ledger.total().covers(asked)) {
    return {fmt::format("waits for {}: the node has {} in all", text_beside(asked, has), text_beside(has, asked)),
            "It can never start here: cancel it and ask for less, or start a node with more."};
  }
  if (!ledger.beside_actors().covers(asked)) {
    return {fmt::format("waits for {}: the node has {}, and actors leave {}", asked.to_string(),
                        text_beside(has, asked), amounts(ledger.beside_actors(), asked)),
            "It starts when an actor that holds them ends: end one, or let actors ask for less."};
  }
  if (!ledger.free().covers(asked)) {
    return {fmt::format("waits for {}: the node has {}, of which {} is free", asked.to_string(),
                        text_beside(has, asked), amounts(ledger.free(), asked)),
            "It starts when running tasks give back enough; nothing needs to be done."};
  }
  if (!state.devices.fits(asked)) {
    return {fmt::format("waits for {} on devices that are still in use", asked.to_string()),
            "It starts when a task or an actor on these devices ends."};
  }
  return reason_of_workers(state, demand);
}

WaitReason why_waiting(const LeaseState& state, ProcessId client) {
  const Demand* demand = state.demands.first(client);
  return demand == nullptr ? WaitReason() : wait_reason(state, *demand);
}

const Demand* deadlocked(const LeaseState& state) {
  const WorkerTable& workers = state.workers;
  // Idle workers without a place, which were started for actors that have ended, cannot run tasks.
  const std::uint32_t stuck = state.ledger.blocked() + static_cast<std::uint32_t>(state.served.size());
  if (state.places() > 0 || workers.living() != stuck + workers.count(WorkerState::kIdle)) return nullptr;
  for (const auto& [lease, held] : state.ledger.leases()) {
    if (held.worker == 0) continue;  // a reservation
    const Worker* worker = workers.find(held.worker);
    if (worker == nullptr || worker->dying) return nullptr;  // its place becomes free
  }
  const Demand* deepest = nullptr;
  for (const auto& [name, demand] : state.demands.in_turn()) {
    // A dedicated demand needs no place among the workers.
    if (demand->reported || demand->wanted.dedicated || !state.ledger.total().covers(demand->asked())) continue;
    const bool is_deeper = deepest == nullptr || std::pair(demand->wanted.shape.depth, deepest->since) >
                                                     std::pair(deepest->wanted.shape.depth, demand->since);
    if (is_deeper) deepest = demand;
  }
  return deepest;
}

}  // namespace fray::scheduler
