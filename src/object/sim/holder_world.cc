// The schedule, the faults, the node, and the judgement of its commands.
#include "object/sim/holder_world.h"

#include <algorithm>
#include <variant>

namespace fray::object {

namespace {

constexpr std::uint32_t kEpoch = 7;
constexpr std::uint32_t kMostSteps = 20'000;
constexpr std::uint32_t kFaultySteps = 300;

std::string text(ObjectId id) { return fmt::format("object {}.{}", id.owner, id.sequence); }

}  // namespace

HolderWorld::HolderWorld(std::uint64_t seed, SimulationLog& log) : random_(seed), log_(log), table_(kEpoch) {
  faults_left_ = 3 + random_.below(5);
  const ProcessId count = 2 + random_.below(5);
  for (ProcessId id = 1; id <= count; ++id) {
    processes_[id].to_do = 5 + random_.below(25);
    table_.process_joined(id);
  }
  begin_round();
}

void HolderWorld::list_possible(SimulationLog& log) {
  for (std::string_view state : {"absent", "pending", "complete", "lost"}) {
    for (std::string_view event : {"register", "hold", "release", "complete", "want"})
      log.possible.insert({state, event});
    if (state == "absent") continue;
    for (std::string_view event : {"owner left", "forgotten"}) log.possible.insert({state, event});
  }
}

void HolderWorld::run() {
  for (;; ++step_) {
    if (step_ > kMostSteps) throw SimulationViolation("it does not come to rest");
    ++log_.steps;
    if (faults_left_ > 0 && (step_ >= kFaultySteps || random_.percent(4))) inject_fault();
    const std::vector<Choice> possible = choices();
    if (!possible.empty()) {
      step(possible[random_.below(possible.size())]);
    } else if (faults_left_ > 0) {
      inject_fault();
    } else {
      check_answers();
      if (!drop_everything()) break;
    }
  }
  if (table_.size() != 0)
    throw SimulationViolation(fmt::format("{} objects are left though nobody holds any", table_.size()));
}

std::vector<HolderWorld::Choice> HolderWorld::choices() {
  std::vector<Choice> possible;
  bool stopped = false;
  for (auto& [id, process] : processes_) {
    if (!process.up.empty()) possible.push_back({Act::kRead, id});
    stopped |= process.alive && process.stopped_until > step_;
    if (!active(process)) continue;
    if (!process.down.empty()) possible.push_back({Act::kAnswer, id});
    if (process.to_do > 0) possible.push_back({Act::kDo, id});
    for (const auto& [call, work] : process.work) possible.push_back({Act::kFinish, id, call});
    for (const auto& [call, mine] : process.calls) {
      if (!at(mine.peer).alive && pipes_[{mine.peer, id}].empty()) possible.push_back({Act::kPeerDied, id, call});
    }
  }
  for (const auto& [pipe, frames] : pipes_) {
    if (!frames.empty() && active(at(pipe.second))) possible.push_back({Act::kFrame, pipe.second, pipe.first});
  }
  if (possible.empty() && stopped) {
    for (auto& [id, process] : processes_) process.stopped_until = 0;
    return choices();
  }
  if (round_is_over() && (!possible.empty() || table_.has_removals())) possible.push_back({Act::kRoundEnds});
  return possible;
}

void HolderWorld::step(const Choice& choice) {
  const auto call = static_cast<CallId>(choice.subject);
  switch (choice.act) {
    case Act::kRead:
      return read(choice.process);
    case Act::kRoundEnds:
      return round_ends();
    case Act::kAnswer:
      return take_answer(choice.process);
    case Act::kFrame:
      return take_frame(static_cast<ProcessId>(choice.subject), choice.process);
    case Act::kFinish:
      return finish_work(choice.process, call);
    case Act::kPeerDied:
      return peer_died(choice.process, call);
    case Act::kDo:
      --at(choice.process).to_do;
      return act(choice.process);
  }
}

void HolderWorld::inject_fault() {
  std::vector<ProcessId> living;
  for (const auto& [id, process] : processes_) {
    if (process.alive) living.push_back(id);
  }
  const ProcessId chosen = living[random_.below(living.size())];
  Process& process = at(chosen);
  const std::uint32_t kind = random_.below(5);
  if (kind <= 1 && living.size() > 1) {
    log_.fault("process killed");
    kill(chosen);
  } else if (kind == 2) {
    log_.fault("process stopped for a while");
    process.stopped_until = step_ + 20 + random_.below(100);
  } else if (kind == 3 && !values_.empty()) {
    log_.fault("late or doubled message");
    // A completion of an attempt that was given up, a second release, a want without a hold.
    const ObjectId object = std::next(values_.begin(), random_.below(values_.size()))->first;
    if (random_.percent(50) && table_.is_known(object)) process.up.push_back({Kind::kComplete, object, chosen, {}});
    if (!process.refs.contains(object)) {
      process.up.push_back({Kind::kRelease, object, 0, {}});
      process.up.push_back({Kind::kWant, object, 0, {}});
      process.up.push_back({Kind::kRelease, object, 0, {}});
    }
  } else if (kind == 4) {
    log_.fault("ref of another engine");
    const ObjectId stray{.epoch = kEpoch + 1, .owner = chosen, .sequence = 1};
    for (Kind each : {Kind::kRegister, Kind::kHold, Kind::kWant, Kind::kRelease})
      process.up.push_back({each, stray, 0, {}});
  } else {
    return;
  }
  --faults_left_;
}

void HolderWorld::kill(ProcessId id) {
  Process& process = at(id);
  process.alive = false;
  process.down.clear();
  process.refs.clear();
  process.own_values.clear();
  process.calls.clear();
  process.work.clear();
  process.to_do = 0;
  process.up.push_back({Kind::kEnd, {}, 0, {}});
  for (auto& [pipe, frames] : pipes_) {
    if (pipe.second == id) frames.clear();
  }
}

// --- the node
// ---------------------------------------------------------------------------------------------------------

void HolderWorld::begin_round() {
  to_read_.clear();
  for (const auto& [id, process] : processes_) to_read_[id] = process.up.size();
}

bool HolderWorld::round_is_over() const {
  return std::all_of(to_read_.begin(), to_read_.end(), [](const auto& each) { return each.second == 0; });
}

void HolderWorld::round_ends() {
  table_.round_drained();
  judge_commands();
  begin_round();
}

void HolderWorld::read(ProcessId id) {
  Process& process = at(id);
  for (std::uint32_t left = 1 + random_.below(3); left > 0 && !process.up.empty(); --left) {
    const Message message = std::move(process.up.front());
    process.up.pop_front();
    if (to_read_[id] > 0) --to_read_[id];
    to_table(id, message);
  }
  judge_commands();
}

void HolderWorld::to_table(ProcessId id, const Message& message) {
  switch (message.kind) {
    case Kind::kRegister:
      note(message.object, "register");
      return table_.registered(id, message.object);
    case Kind::kHold:
      note(message.object, "hold");
      return table_.held(id, message.object);
    case Kind::kRelease:
      note(message.object, "release");
      return table_.released(id, message.object);
    case Kind::kWant:
      note(message.object, "want");
      return table_.wanted(id, message.object);
    case Kind::kComplete:
      note(message.object, "complete");
      if (table_.completed(message.holder, message.object, message.nested)) values_[message.object] = message.nested;
      return;
    case Kind::kEnd:
      for (std::uint64_t sequence = 1; sequence <= at(id).sequence; ++sequence) {
        const ObjectId object{.epoch = kEpoch, .owner = id, .sequence = sequence};
        if (table_.is_known(object)) note(object, "owner left");
      }
      at(id).ended = true;
      return table_.process_left(id);
  }
}

void HolderWorld::note(ObjectId object, std::string_view event) {
  if (object.epoch != kEpoch) return;
  const bool known = table_.is_known(object);
  log_.event(!known                       ? "absent"
             : table_.is_complete(object) ? "complete"
             : table_.is_lost(object)     ? "lost"
                                          : "pending",
             event);
}

// --- judgement
// --------------------------------------------------------------------------------------------------------

void HolderWorld::judge_commands() {
  for (const Command& command : table_.take_commands()) {
    std::visit([this](const auto& each) { judge(each); }, command);
  }
}

void HolderWorld::judge(const Deliver& command) {
  auto value = values_.find(command.object);
  if (value == values_.end()) throw SimulationViolation(text(command.object) + " is delivered and has no value");
  at(command.process).down.push_back({command.object, false, value->second});
}

void HolderWorld::judge(const ReportLost& command) {
  const ObjectId object = command.object;
  at(command.process).down.push_back({object, true, {}});
  const auto& refs = at(command.process).refs;
  auto ref = refs.find(object);
  if (ref == refs.end() || !ref->second.counted || ghosts_.contains(object)) return;
  if (command.code == StatusCode::kOwnerDied && at(object.owner).ended) return;
  throw SimulationViolation(
      fmt::format("process {} holds {} and is told that it is lost", command.process, text(object)));
}

void HolderWorld::judge(const Forget& command) {
  const ObjectId object = command.object;
  log_.event(values_.contains(object) ? "complete" : at(object.owner).ended ? "lost" : "pending", "forgotten");
  values_.erase(object);
  if (ghosts_.contains(object)) return;
  for (const auto& [id, process] : processes_) {
    auto ref = process.refs.find(object);
    if (ref != process.refs.end() && ref->second.counted) {
      throw SimulationViolation(fmt::format("{} is forgotten and process {} holds it", text(object), id));
    }
  }
  for (const auto& [container, nested] : values_) {
    if (std::find(nested.begin(), nested.end(), object) != nested.end()) {
      throw SimulationViolation(fmt::format("{} is forgotten and {} contains it", text(object), text(container)));
    }
  }
}

void HolderWorld::check_answers() {
  for (const auto& [id, process] : processes_) {
    for (const auto& [object, ref] : process.refs) {
      if (!ref.wanted) continue;
      // A value that is still being made: its owner lives and has not completed it.
      const bool under_way = table_.is_known(object) && !table_.is_complete(object) && !table_.is_lost(object);
      if (under_way && at(object.owner).alive && !process.alive) continue;
      throw SimulationViolation(fmt::format("process {} wants {} and gets no answer", id, text(object)));
    }
  }
}

bool HolderWorld::drop_everything() {
  if (dropping_) return false;
  dropping_ = true;
  for (auto& [id, process] : processes_) {
    while (!process.refs.empty()) drop(id, process.refs.begin()->first);
  }
  begin_round();
  return true;
}

}  // namespace fray::object
