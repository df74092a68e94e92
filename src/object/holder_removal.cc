// Removals of a HolderTable: releases, departures, and the objects that are forgotten because of them.
#include <algorithm>
#include <utility>

#include "object/holder_table.h"

namespace fray::object {

void HolderTable::round_drained() {
  Removals due = removals_.next_round();
  for (const Hold& hold : due.releases) apply_release(hold);
  if (!due.departures.empty()) apply_departures(due.departures);
  for (ObjectId object : due.suspects) apply_suspicion(object);
  collect();
}

void HolderTable::apply_release(const Hold& hold) {
  auto found = entries_.find(hold.object);
  if (found == entries_.end() || !found->second.processes.erase(hold.process)) return;
  if (auto process = processes_.find(hold.process); process != processes_.end()) --process->second.holds;
  if (auto process = departed_.find(hold.process); process != departed_.end()) --process->second.holds;
  unheld_.push_back(hold.object);
}

// One walk over all entries serves all processes that departed in a round. There is no walk for processes that held and
// owned nothing, such as a worker that retires.
void HolderTable::apply_departures(const std::vector<ProcessId>& departed) {
  std::vector<ProcessId> with_traces;
  for (ProcessId process : departed) {
    const Process& left = departed_.at(process);
    if (left.holds + left.pending > 0) with_traces.push_back(process);
  }
  if (!with_traces.empty()) {
    for (auto& [object, entry] : entries_) depart_from(object, entry, with_traces);
  }
  for (ProcessId process : departed) departed_.erase(process);
}

void HolderTable::depart_from(ObjectId object, Entry& entry, const std::vector<ProcessId>& departed) {
  for (ProcessId process : departed) {
    if (entry.processes.erase(process)) unheld_.push_back(object);
    if (object.owner == process && entry.state == State::kPending) lose(object, entry, StatusCode::kOwnerDied);
  }
}

// A suspicious entry was mentioned by another message, but its own Register or Complete is missing, or its owner was
// not there. That message was written before any that mentions the object, so it has arrived by now; if it has not, the
// object was forgotten before.
void HolderTable::apply_suspicion(ObjectId object) {
  auto found = entries_.find(object);
  if (found == entries_.end()) return;
  const bool owner_is_gone = !joined(object.owner) && !departed_.contains(object.owner);
  if (found->second.state == State::kPending && (owner_is_gone || !found->second.confirmed)) {
    lose(object, found->second, owner_is_gone ? StatusCode::kOwnerDied : StatusCode::kObjectLost);
  }
  unheld_.push_back(object);
}

// Forgets objects without holders, and objects that only those held. A list, not a recursion: chains may be long.
void HolderTable::collect() {
  while (!unheld_.empty()) {
    const ObjectId object = unheld_.back();
    unheld_.pop_back();
    auto found = entries_.find(object);
    if (found == entries_.end() || found->second.held()) continue;
    Entry forgotten = std::move(found->second);
    if (forgotten.state == State::kPending) lose(object, forgotten, StatusCode::kObjectLost);
    entries_.erase(found);
    commands_.emplace_back(Forget{object});
    if (forgotten.rare == nullptr) continue;
    for (ObjectId inner : forgotten.rare->nested) {
      auto contained = entries_.find(inner);
      if (contained == entries_.end()) continue;
      if (--contained->second.containers == 0) unheld_.push_back(inner);
    }
  }
}

}  // namespace fray::object
