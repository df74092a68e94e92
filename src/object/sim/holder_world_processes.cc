// What the processes of the HolderWorld do, as docs/decisions/0001 and docs/concepts/object-lifetime.md have it.
#include <algorithm>
#include <utility>

#include "object/sim/holder_world.h"

namespace fray::object {

void HolderWorld::act(ProcessId id) {
  const std::uint32_t choice = random_.below(10);
  if (choice < 2 || at(id).refs.empty()) return put(id);
  if (choice < 5) return call(id);
  if (choice < 7) return want(id);
  drop_variable(id);
}

void HolderWorld::drop_variable(ProcessId id) {
  Process& process = at(id);
  auto chosen = std::next(process.refs.begin(), random_.below(process.refs.size()));
  if (chosen->second.variables == 0) return;
  --chosen->second.variables;
  drop(id, chosen->first);
}

void HolderWorld::put(ProcessId id) {
  Process& process = at(id);
  const ObjectId object{.epoch = 7, .owner = id, .sequence = ++process.sequence};
  const std::vector<ObjectId> nested = random_.percent(40) ? some_refs(id, 2) : std::vector<ObjectId>{};
  for (ObjectId inner : nested) ++process.refs[inner].count;  // the value holds them here
  contents_[object] = nested;
  process.own_values[object] = nested;
  process.refs[object] = {.count = 1, .variables = 1};
}

std::vector<ObjectId> HolderWorld::some_refs(ProcessId id, std::uint32_t most) {
  std::vector<ObjectId> chosen;
  const auto& refs = at(id).refs;
  for (std::uint32_t i = 0; i < most && !refs.empty(); ++i) {
    if (random_.percent(70)) chosen.push_back(std::next(refs.begin(), random_.below(refs.size()))->first);
  }
  return chosen;
}

bool HolderWorld::leads_to(ObjectId from, ObjectId to) const {
  std::vector<ObjectId> open{from};
  while (!open.empty()) {
    const ObjectId next = open.back();
    open.pop_back();
    if (next == to) return true;
    if (auto inside = contents_.find(next); inside != contents_.end()) {
      open.insert(open.end(), inside->second.begin(), inside->second.end());
    }
  }
  return false;
}

ProcessId HolderWorld::other_than(ProcessId id) {
  std::vector<ProcessId> others;
  for (const auto& [other, process] : processes_) {
    if (other != id && process.alive) others.push_back(other);
  }
  return others.empty() ? 0 : others[random_.below(others.size())];
}

// Before a ref leaves the process: the node must know it, and its value if it was made here. Iterative, inner ones
// first.
void HolderWorld::escape(ProcessId id, ObjectId object) {
  Process& process = at(id);
  Ref& ref = process.refs.at(object);
  if (!ref.counted) process.up.push_back({Kind::kRegister, object, 0, {}});
  ref.counted = ref.owes_release = true;
  for (auto& [call, mine] : process.calls) mine.escaped |= mine.result == object;
  auto value = process.own_values.find(object);
  if (value == process.own_values.end()) return;
  const std::vector<ObjectId> nested = std::move(value->second);
  process.own_values.erase(value);
  for (ObjectId inner : nested) escape(id, inner);
  process.up.push_back({Kind::kComplete, object, id, nested});
  for (ObjectId inner : nested) drop(id, inner);  // now the object at the node holds them
}

// A ref came in. The hold is written before anything that may let the sender release its own.
void HolderWorld::gain(ProcessId id, ObjectId object, bool from_the_dead) {
  Ref& ref = at(id).refs[object];
  ++ref.count;
  if (from_the_dead) ghosts_.insert(object);
  if (ref.counted || at(id).own_values.contains(object)) return;
  ref.counted = ref.owes_release = true;
  at(id).up.push_back({Kind::kHold, object, 0, {}});
}

void HolderWorld::drop(ProcessId id, ObjectId object) {
  std::vector<ObjectId> dropped{object};
  Process& process = at(id);
  while (!dropped.empty()) {
    const ObjectId next = dropped.back();
    dropped.pop_back();
    auto found = process.refs.find(next);
    if (found == process.refs.end() || --found->second.count > 0) continue;
    if (found->second.owes_release) process.up.push_back({Kind::kRelease, next, 0, {}});
    process.refs.erase(found);
    if (auto value = process.own_values.find(next); value != process.own_values.end()) {
      dropped.insert(dropped.end(), value->second.begin(), value->second.end());
      process.own_values.erase(value);
    }
  }
}

void HolderWorld::want(ProcessId id) {
  for (auto& [object, ref] : at(id).refs) {
    if (!ref.counted || ref.wanted || !random_.percent(50)) continue;
    ref.wanted = true;
    at(id).up.push_back({Kind::kWant, object, 0, {}});
    return;
  }
}

void HolderWorld::take_answer(ProcessId id) {
  Process& process = at(id);
  const Answer answer = std::move(process.down.front());
  process.down.pop_front();
  auto found = process.refs.find(answer.object);
  if (found == process.refs.end()) return;  // dropped in the meantime: the value is not looked at
  found->second.wanted = false;
  if (answer.lost || !random_.percent(50)) return;
  for (ObjectId inner : answer.nested) {
    gain(id, inner, ghosts_.contains(answer.object));
    ++process.refs.at(inner).variables;
  }
}

// --- calls
// ------------------------------------------------------------------------------------------------------------

void HolderWorld::call(ProcessId id) {
  const ProcessId peer = other_than(id);
  if (peer == 0) return;
  Process& process = at(id);
  const CallId call = ++last_call_;
  Call& mine = process.calls[call];
  mine = {.peer = peer, .result = {.epoch = 7, .owner = id, .sequence = ++process.sequence}, .refs = some_refs(id, 3)};
  mine.attempts = 1 + random_.below(2);
  for (ObjectId ref : mine.refs) ++process.refs[ref].count;  // until the result has arrived
  process.refs[mine.result] = {.count = 1, .variables = 1};
  send_call(id, call);
}

void HolderWorld::send_call(ProcessId id, CallId call) {
  const Call& mine = at(id).calls.at(call);
  for (ObjectId ref : mine.refs) escape(id, ref);
  pipes_[{id, mine.peer}].push_back({.call = call, .result = mine.result, .refs = mine.refs});
}

void HolderWorld::take_frame(ProcessId from, ProcessId to) {
  std::deque<Frame>& pipe = pipes_[{from, to}];
  const Frame frame = std::move(pipe.front());
  pipe.pop_front();
  const bool from_the_dead = !at(from).alive;
  if (frame.is_result) return take_result(to, frame);
  for (ObjectId ref : frame.refs) gain(to, ref, from_the_dead || ghosts_.contains(ref));
  at(to).work[frame.call] = {.peer = from, .result = frame.result, .refs = frame.refs};
}

// Results that are large or contain refs are recorded at the node, in the caller's name, before the frame is written.
void HolderWorld::finish_work(ProcessId id, CallId call) {
  Process& process = at(id);
  const Call work = std::move(process.work.at(call));
  process.work.erase(call);
  std::vector<ObjectId> inside = random_.percent(50) ? some_refs(id, 2) : std::vector<ObjectId>{};
  std::erase_if(inside, [&](ObjectId inner) { return leads_to(inner, work.result); });
  for (ObjectId inner : inside) contents_[work.result].push_back(inner);
  const bool recorded = !inside.empty() || random_.percent(40);
  for (ObjectId ref : inside) ++process.refs.at(ref).count;  // the result holds them here
  for (ObjectId ref : inside) escape(id, ref);
  if (recorded) process.up.push_back({Kind::kComplete, work.result, work.peer, inside});
  if (at(work.peer).alive) {
    pipes_[{id, work.peer}].push_back(
        {.call = call, .is_result = true, .recorded = recorded, .result = work.result, .refs = inside});
  }
  for (ObjectId ref : inside) drop(id, ref);
  for (ObjectId ref : work.refs) drop(id, ref);
}

void HolderWorld::take_result(ProcessId id, const Frame& frame) {
  end_call(id, frame.call, frame.recorded);
  if (!frame.recorded || !at(id).refs.contains(frame.result) || random_.percent(50)) return;
  for (ObjectId inner : frame.refs) {
    gain(id, inner, ghosts_.contains(inner));
    ++at(id).refs.at(inner).variables;
  }
}

// The callee is gone and all that it had written was read. It may have recorded a result all the same.
void HolderWorld::peer_died(ProcessId id, CallId call) {
  Call& mine = at(id).calls.at(call);
  mine.retried = true;
  const ProcessId next = other_than(id);
  if (--mine.attempts == 0 || next == 0) return end_call(id, call, false);  // the error is its value
  mine.peer = next;
  send_call(id, call);
}

// The value is known here. If the result escaped, others wait for it, though perhaps nobody here does. Whatever was or
// may have been recorded in our name is released in the end.
void HolderWorld::end_call(ProcessId id, CallId call, bool recorded) {
  Process& process = at(id);
  const Call mine = std::move(process.calls.at(call));
  process.calls.erase(call);
  auto ref = process.refs.find(mine.result);
  const bool known_to_node = recorded || mine.retried || mine.escaped;
  if (mine.escaped && !recorded) process.up.push_back({Kind::kComplete, mine.result, id, {}});
  if (ref == process.refs.end()) {
    if (known_to_node) process.up.push_back({Kind::kRelease, mine.result, 0, {}});
  } else {
    ref->second.counted |= recorded || mine.escaped;
    ref->second.owes_release |= known_to_node;
    if (!ref->second.counted) process.own_values[mine.result] = {};
  }
  for (ObjectId inner : mine.refs) drop(id, inner);
}

}  // namespace fray::object
