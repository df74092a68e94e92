// Additions to a HolderTable and questions to it. Removals are in holder_removal.cc.
#include "object/holder_table.h"

#include <algorithm>
#include <utility>

namespace fray::object {

HolderTable::Rare& HolderTable::Entry::with_rare() {
  if (rare == nullptr) rare = std::make_unique<Rare>();
  return *rare;
}

void HolderTable::process_joined(ProcessId process) {
  if (process == 0 || departed_.contains(process) || !processes_.try_emplace(process).second) ++contradictions_;
}

void HolderTable::process_left(ProcessId process) {
  auto found = processes_.find(process);
  if (found == processes_.end()) {
    ++contradictions_;
    return;
  }
  departed_.emplace(process, found->second);
  processes_.erase(found);
  removals_.depart(process);
}

void HolderTable::registered(ProcessId process, ObjectId object) {
  if (Entry* found = hold(process, object)) found->confirmed = true;
}

void HolderTable::held(ProcessId process, ObjectId object) {
  Entry* found = hold(process, object);
  if (found != nullptr && !found->confirmed) removals_.suspect(object);
}

HolderTable::Entry* HolderTable::hold(ProcessId process, ObjectId object) {
  Entry* found = accept(process, object);
  if (found == nullptr) return nullptr;
  removals_.cancel({.process = process, .object = object});
  add_holder(process, *found);
  return found;
}

void HolderTable::released(ProcessId process, ObjectId object) {
  if (!joined(process) || object.epoch != epoch_) {
    ++contradictions_;
    return;
  }
  // Queued even if the process does not hold the object yet: the Complete in its name may still be in another socket.
  removals_.release({.process = process, .object = object});
}

bool HolderTable::completed(ProcessId holder, ObjectId object, const std::vector<ObjectId>& nested) {
  if (object.epoch != epoch_) {
    ++contradictions_;
    return false;
  }
  Entry& completed = entry(object);
  if (completed.state != State::kPending) return false;
  leave_pending(object, completed, State::kComplete);
  completed.confirmed = true;
  if (joined(holder)) {
    add_holder(holder, completed);
  } else {
    removals_.suspect(object);
  }
  if (!nested.empty()) completed.with_rare().nested = nested;
  answer_wanting(object, completed);
  for (ObjectId inner : nested) {
    if (inner.epoch != epoch_) continue;
    Entry& contained = entry(inner);  // `completed` stays valid: the map has nodes
    ++contained.containers;
    if (!contained.confirmed) removals_.suspect(inner);
  }
  return true;
}

void HolderTable::wanted(ProcessId process, ObjectId object) {
  if (object.epoch != epoch_ && joined(process)) {
    ++contradictions_;
    commands_.emplace_back(ReportLost{.process = process, .object = object, .code = StatusCode::kObjectLost});
    return;
  }
  Entry* found = accept(process, object);
  if (found == nullptr) return;
  if (!found->held() || !found->confirmed) removals_.suspect(object);
  if (found->state != State::kPending) return answer(process, object, *found);
  std::vector<ProcessId>& waiting = found->with_rare().wanted_by;
  if (std::find(waiting.begin(), waiting.end(), process) == waiting.end()) waiting.push_back(process);
}

std::vector<Command> HolderTable::take_commands() { return std::exchange(commands_, {}); }

bool HolderTable::is_complete(ObjectId object) const {
  auto found = entries_.find(object);
  return found != entries_.end() && found->second.state == State::kComplete;
}

bool HolderTable::is_lost(ObjectId object) const {
  auto found = entries_.find(object);
  return found != entries_.end() && found->second.state == State::kLost;
}

std::vector<ObjectId> HolderTable::held_by(ProcessId process) const {
  std::vector<ObjectId> held;
  auto found = processes_.find(process);
  if (found == processes_.end() || found->second.holds == 0) return held;
  for (const auto& [object, entry] : entries_) {
    if (entry.state == State::kComplete && entry.processes.contains(process)) held.push_back(object);
  }
  return held;
}

std::vector<ProcessId> HolderTable::holders(ObjectId object) const {
  auto found = entries_.find(object);
  return found == entries_.end() ? std::vector<ProcessId>{} : found->second.processes.values();
}

HolderTable::Entry* HolderTable::accept(ProcessId process, ObjectId object) {
  if (joined(process) && object.epoch == epoch_) return &entry(object);
  ++contradictions_;
  return nullptr;
}

HolderTable::Entry& HolderTable::entry(ObjectId object) {
  auto [found, is_new] = entries_.try_emplace(object);
  if (!is_new) return found->second;
  if (auto owner = processes_.find(object.owner); owner != processes_.end()) {
    ++owner->second.pending;
  } else if (auto gone = departed_.find(object.owner); gone != departed_.end()) {
    ++gone->second.pending;
    removals_.suspect(object);
  } else {
    removals_.suspect(object);
  }
  return found->second;
}

void HolderTable::add_holder(ProcessId process, Entry& entry) {
  if (entry.processes.insert(process)) ++processes_.at(process).holds;
}

void HolderTable::leave_pending(ObjectId object, Entry& entry, State state) {
  if (entry.state == State::kPending) {
    if (auto owner = processes_.find(object.owner); owner != processes_.end()) --owner->second.pending;
    if (auto gone = departed_.find(object.owner); gone != departed_.end()) --gone->second.pending;
  }
  entry.state = state;
}

void HolderTable::lose(ObjectId object, Entry& entry, StatusCode code) {
  leave_pending(object, entry, State::kLost);
  entry.lost_code = code;
  answer_wanting(object, entry);
}

void HolderTable::answer_wanting(ObjectId object, Entry& entry) {
  if (entry.rare == nullptr) return;
  for (ProcessId process : std::exchange(entry.rare->wanted_by, {})) answer(process, object, entry);
}

void HolderTable::answer(ProcessId process, ObjectId object, const Entry& entry) {
  if (!joined(process)) return;
  if (entry.state == State::kComplete) {
    commands_.emplace_back(Deliver{.process = process, .object = object});
  } else {
    commands_.emplace_back(ReportLost{.process = process, .object = object, .code = entry.lost_code});
  }
}

}  // namespace fray::object
