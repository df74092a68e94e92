// The schedule, the faults and the node. Clients and actors are in actor_world_processes.cc.
#include "actor/sim/actor_world.h"

#include <algorithm>
#include <variant>

namespace fray::actor {

namespace {

constexpr std::uint32_t kMostSteps = 20'000;
constexpr std::uint32_t kFaultySteps = 200;  // faults come before this step

}  // namespace

ActorWorld::ActorWorld(std::uint64_t seed, SimulationLog& log) : random_(seed), log_(log), table_(log) {
  faults_left_ = 3 + random_.below(5);
  actors_left_ = 3 + random_.below(10);
  home_holds_ = random_.percent(70);
  for (std::uint32_t drivers = 1 + random_.below(3); drivers > 0; --drivers) {
    const ProcessId driver = add_client(true, 0);
    for (std::uint32_t tasks = random_.below(3); tasks > 0; --tasks) add_client(false, driver);
  }
}

void ActorWorld::run() {
  for (;; ++step_) {
    if (step_ > kMostSteps) throw SimulationViolation("it does not come to rest");
    ++log_.steps;
    now_ += random_.percent(2) ? std::chrono::milliseconds(random_.below(4000))
                               : std::chrono::milliseconds(random_.below(3));
    if (faults_left_ > 0 && (step_ >= kFaultySteps || random_.percent(6))) inject_fault();
    const std::vector<Choice> possible = choices();
    if (!possible.empty()) {
      step(possible[random_.below(possible.size())]);
    } else if (const std::optional<Moment> due = table_.table().next_due()) {
      now_ = std::max(now_, *due);
    } else if (faults_left_ > 0) {
      inject_fault();
    } else {
      table_.check_at_rest();
      if (!begin_end()) break;
    }
  }
  check_nothing_is_left();
}

std::vector<ActorWorld::Choice> ActorWorld::choices() {
  std::vector<Choice> possible;
  bool stopped = false;
  for (const auto& [id, process] : processes_) {
    stopped |= process.alive && process.stopped_until > step_;
    if (!process.up.empty()) possible.push_back({Act::kUp, id});
    if (!process.alive && !process.noticed) possible.push_back({Act::kNotice, id});
    if (!active(process)) continue;
    if (!process.down.empty()) possible.push_back({Act::kDown, id});
    if (process.to_do > 0) possible.push_back({Act::kDo, id});
    if (has_work(process)) possible.push_back({Act::kWork, id});
  }
  for (const auto& [home, actor] : requests_) possible.push_back({Act::kGrant, home});
  if (const auto due = table_.table().next_due(); due && *due <= now_) possible.push_back({Act::kTick});
  if (possible.empty() && stopped) {
    for (auto& [id, process] : processes_) process.stopped_until = 0;
    return choices();
  }
  return possible;
}

void ActorWorld::step(const Choice& choice) {
  switch (choice.act) {
    case Act::kUp:
      return read_up(choice.process);
    case Act::kDown:
      return read_down(choice.process);
    case Act::kDo:
      --at(choice.process).to_do;
      return act(choice.process);
    case Act::kWork:
      return work(choice.process);
    case Act::kGrant:
      return grant(choice.process);
    case Act::kNotice:
      return notice(choice.process);
    case Act::kTick:
      table_.tick(now_);
      return carry_out();
  }
}

void ActorWorld::inject_fault() {
  std::vector<ProcessId> clients, workers;
  for (const auto& [id, process] : processes_) {
    if (process.alive) (process.is_worker ? workers : clients).push_back(id);
  }
  if (inject(random_.below(10), clients, workers)) --faults_left_;
}

// False when there is nothing of the kind to break right now.
bool ActorWorld::inject(std::uint32_t kind, const std::vector<ProcessId>& clients,
                        const std::vector<ProcessId>& workers) {
  const auto any = [this](const std::vector<ProcessId>& from) { return from[random_.below(from.size())]; };
  if (kind <= 2 && !workers.empty()) {
    const ProcessId worker = any(workers);
    log_.fault(at(worker).phase == Phase::kServing ? "actor's process killed" : "killed in the constructor");
    kill(worker);
  } else if (kind == 3 && clients.size() > 1) {
    const ProcessId client = any(clients);
    log_.fault(at(client).is_driver ? "driver killed" : "creator killed");
    kill(client);
  } else if (kind == 4 && !workers.empty()) {
    log_.fault("worker stopped for a while");
    at(any(workers)).stopped_until = step_ + 20 + random_.below(80);
  } else if (kind == 5) {
    log_.fault("a worker is refused");
    ++refusals_;
  } else if (kind == 6 && !workers.empty()) {
    log_.fault("message late or doubled");
    Process& worker = at(any(workers));
    const std::uint32_t incarnation = worker.incarnation > 0 ? worker.incarnation - random_.below(2) : 0;
    for (Kind each : {Kind::kConstructed, Kind::kRaised}) {
      const bool harmless = incarnation != worker.incarnation || each == Kind::kConstructed;
      if (harmless && worker.phase == Phase::kServing) worker.up.push_back({each, worker.hosts, incarnation, {}, {}});
    }
  } else if (kind == 7 && !clients.empty()) {
    log_.fault("handle of another node");
    at(any(clients)).up.push_back({Kind::kConnect, {.epoch = 9, .owner = 9, .sequence = 9}, 0, {}, {}});
  } else if (kind == 8 && !known_.empty()) {
    log_.fault("actor killed by hand");
    table_.kill(std::next(known_.begin(), random_.below(known_.size()))->first, random_.percent(50));
    carry_out();
  } else if (kind == 9 && !known_.empty()) {
    log_.fault("last handle said to be gone");
    const ActorId actor = std::next(known_.begin(), random_.below(known_.size()))->first;
    table_.unreferenced(actor);
    carry_out();
  } else {
    return false;
  }
  return true;
}

// --- the node
// ---------------------------------------------------------------------------------------------------------

void ActorWorld::read_up(ProcessId id) {
  const Message message = std::move(at(id).up.front());
  at(id).up.pop_front();
  to_table(id, message);
  carry_out();
}

void ActorWorld::to_table(ProcessId id, const Message& message) {
  const bool open = !at(id).noticed;
  switch (message.kind) {
    case Kind::kConstructed:
      return table_.constructed(message.actor, message.incarnation, now_);
    case Kind::kRaised:
      return table_.constructor_raised(message.actor, message.incarnation);
    case Kind::kCreate:
      if (open) create(id, message);
      return;
    case Kind::kFind:
      if (!open) return;
      if (Result<ActorId> found = table_.find(message.name); found.is_ok()) {
        holders_[*found].insert(id);
        at(id).down.push_back({Kind::kGot, *found, 0, {}, {}});
      }
      return;
    case Kind::kConnect:
      if (open) table_.connect(id, message.actor);
      return;
    case Kind::kDrop:
      if (open) release(id, message.actor);
      return;
    case Kind::kKill:
    case Kind::kKillForRestart:
      return table_.kill(message.actor, message.kind == Kind::kKill);
    case Kind::kStart:
    case Kind::kEnd:
    case Kind::kGot:
      throw SimulationViolation("the node got a message that is not for it");
  }
}

void ActorWorld::create(ProcessId id, const Message& message) {
  Result<ActorId> created = table_.create(*message.spec);
  if (!created.is_ok()) return;
  known_.try_emplace(*created, *message.spec);
  holders_[*created].insert(id);
  at(id).down.push_back({Kind::kGot, *created, 0, {}, {}});
}

void ActorWorld::carry_out() {
  for (std::vector<Command> commands = table_.take_commands(now_); !commands.empty();
       commands = table_.take_commands(now_)) {
    for (const Command& command : commands) {
      std::visit([this](const auto& each) { carry_out(each); }, command);
    }
  }
}

void ActorWorld::carry_out(const RequestWorker& command) {
  if (leases_.contains(command.home)) throw SimulationViolation("a home asks for a second worker");
  requests_[command.home] = command.actor;
}

void ActorWorld::carry_out(const StartActor& command) {
  Process& worker = at(command.worker);
  worker.down.push_back({Kind::kStart, command.actor, command.incarnation, {}, {}});
}

void ActorWorld::carry_out(const EndWorker& command) {
  at(command.worker).down.push_back({Kind::kEnd, command.actor, 0, {}, {}});
}

void ActorWorld::carry_out(const KillWorker& command) { kill(command.worker); }

void ActorWorld::carry_out(const CloseHome& command) {
  if (leases_.contains(command.home)) throw SimulationViolation("a dead actor keeps its lease");
  if (requests_.erase(command.home) > 0 && random_.percent(30)) {  // the grant was under way
    const ProcessId worker = start_worker(command.home, command.actor);
    table_.granted(command.actor, worker);
    kill(worker);
  }
  closed_.insert(command.actor);
  look_for_handles(command.actor);
}

void ActorWorld::carry_out(const Forget& command) {
  if (!holders_[command.actor].empty()) throw SimulationViolation("an actor is forgotten that somebody holds");
  holders_.erase(command.actor);
  known_.erase(command.actor);
  closed_.erase(command.actor);
}

void ActorWorld::grant(ProcessId home) {
  const ActorId actor = requests_.at(home);
  requests_.erase(home);
  if (refusals_ > 0) {
    --refusals_;
    table_.refused(actor);
    return carry_out();
  }
  table_.granted(actor, start_worker(home, actor));
  carry_out();
}

ProcessId ActorWorld::start_worker(ProcessId home, ActorId actor) {
  const ProcessId id = next_process_++;
  const ActorSpec& spec = known_.at(actor);
  Process& worker = processes_[id];
  worker.is_worker = true;
  worker.root = spec.detached ? spec.home : spec.root;
  worker.hosts = actor;
  leases_[home] = id;
  table_.client_joined(id);
  return id;
}

void ActorWorld::notice(ProcessId id) {
  Process& process = at(id);
  if (!process.up.empty() && random_.percent(60)) return read_up(id);
  process.noticed = true;
  const ActorId hosted = process.hosts;
  if (process.is_worker) {
    const auto lease =
        std::find_if(leases_.begin(), leases_.end(), [id](const auto& each) { return each.second == id; });
    leases_.erase(lease);
    const bool first = random_.percent(50);
    if (first) table_.worker_lost(hosted, id, now_);
    table_.client_left(id);
    if (!first) table_.worker_lost(hosted, id, now_);
  } else {
    table_.client_left(id);
  }
  carry_out();
  for (auto& [other, task] : processes_) {
    if (process.is_driver && !task.is_worker && task.root == id) kill(other);
  }
  std::vector<ActorId> held;
  for (const auto& [actor, holders] : holders_) {
    if (holders.contains(id)) held.push_back(actor);
  }
  for (ActorId actor : held) release(id, actor);
  carry_out();
}

void ActorWorld::release(ProcessId id, ActorId actor) {
  auto found = holders_.find(actor);
  if (found == holders_.end() || found->second.erase(id) == 0) return;
  look_for_handles(actor);
}

// What the HolderTable would tell.
void ActorWorld::look_for_handles(ActorId actor) {
  if (!known_.contains(actor)) return;
  const std::set<ProcessId>& holders = holders_[actor];
  const ProcessId own = table_.table().view(actor) ? table_.table().view(actor)->worker : 0;
  const bool outside = std::any_of(holders.begin(), holders.end(), [own](ProcessId holder) { return holder != own; });
  if (outside) return;
  if (holders.empty() && (closed_.contains(actor) || !home_holds_)) return table_.forgotten(actor);
  table_.unreferenced(actor);
}

// --- the end
// ----------------------------------------------------------------------------------------------------------

bool ActorWorld::begin_end() {
  if (ending_) return false;
  ending_ = true;
  for (auto& [id, process] : processes_) {
    if (!process.is_worker) kill(id);
  }
  std::vector<ActorId> detached;
  for (const auto& [actor, spec] : known_) {
    if (spec.detached) detached.push_back(actor);
  }
  for (ActorId actor : detached) table_.kill(actor, true);
  carry_out();
  return true;
}

void ActorWorld::check_nothing_is_left() const {
  if (table_.table().size() != 0) {
    const ActorView left = table_.table().views().front();
    throw SimulationViolation(
        fmt::format("{} actors are left at the end, the first is {}", table_.table().size(), to_string(left.state)));
  }
  if (!table_.table().named(std::nullopt).empty()) throw SimulationViolation("names are left at the end");
  if (!leases_.empty()) throw SimulationViolation("leases are left at the end");
  for (const auto& [id, process] : processes_) {
    if (process.alive) throw SimulationViolation(fmt::format("process {} is left at the end", id));
  }
}

}  // namespace fray::actor
