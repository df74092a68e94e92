// The schedule, the faults and the node. Clients and workers are in lease_world_processes.cc.
#include "scheduler/sim/lease_world.h"

#include <algorithm>

#include "model/reservation.h"
#include "scheduler/reclaim_policy.h"
#include "scheduler/wait_reasons.h"

namespace fray::scheduler {

namespace {

constexpr std::uint32_t kMostSteps = 20'000;
constexpr std::uint32_t kFaultySteps = 250;  // faults come before this step
constexpr std::uint32_t kMostReservations = 4;
constexpr std::uint32_t kCrowdedTasks = 100;  // enough that they come for longer than a reservation needs to age

}  // namespace

Limits LeaseWorld::choose_limits(SimulationRandom& random) {
  ResourceSet total = tenths_of("CPU", 10 * (1 + random.below(3)));
  if (random.percent(30)) total.add(tenths_of("GPU", 20));
  return {.total = total, .max_workers = 2 + random.below(6)};
}

LeaseWorld::LeaseWorld(std::uint64_t seed, SimulationLog& log)
    : random_(seed), log_(log), table_(choose_limits(random_), log) {
  shapes_ = {{tenths_of("CPU", 10), 0}, {tenths_of("CPU", 10), 1}, {ResourceSet(), 0}, {tenths_of("CPU", 5), 0}};
  if (table_.table().ledger().total().covers(tenths_of("CPU", 20))) shapes_.push_back({tenths_of("CPU", 20), 0});
  plain_of_other_key_ = static_cast<std::uint32_t>(shapes_.size());
  shapes_.push_back({ResourceSet(), 1});
  if (random_.percent(60)) actors_to_come_ = 1 + random_.below(8);
  if (random_.percent(40)) reservations_to_come_ = 1 + random_.below(kMostReservations);
  if (table_.table().ledger().total().covers(tenths_of("GPU", 20))) {
    for (std::int64_t tenths : {5, 10}) shapes_.push_back({tenths_of("GPU", tenths), device_key(0)});
  }
  faults_left_ = 3 + random_.below(6);
  tasks_left_ = 10 + random_.below(30);
  tasks_.resize(1);  // task 0 names none
  const std::uint32_t drivers = 1 + random_.below(3);
  for (std::uint32_t i = 0; i < drivers; ++i) {
    Process& driver = processes_[next_process_];
    driver.driver = driver.hello = true;
    driver.to_submit = 1 + random_.below(random_.percent(20) ? 30 : 6);
    table_.client_joined(next_process_++);
  }
  if (seed % 32 == 0) crowd();
}

// In a crowded world one driver wants more than there is, of several shapes and without end, while a reservation waits for
// the whole machine. Without such worlds hardly any reservation waits for as long as it takes to age.
void LeaseWorld::crowd() {
  actors_to_come_ = faults_left_ = tasks_left_ = 0;
  reservations_to_come_ = 1;
  crowded_ = true;
  for (auto& [id, driver] : processes_) driver.to_submit = kCrowdedTasks;
}

void LeaseWorld::run() {
  for (;; ++step_) {
    if (step_ > kMostSteps) throw SimulationViolation("it does not come to rest");
    ++log_.steps;
    if (faults_left_ > 0 && (step_ >= kFaultySteps || random_.percent(5))) inject_fault();
    const std::vector<Choice> possible = choices();
    if (!possible.empty()) {
      step(possible[random_.below(possible.size())]);
    } else if (faults_left_ > 0) {
      inject_fault();
    } else if (!wake_something()) {
      check_everything_ended();
      if (finishing_) return;
      finishing_ = true;
      for (auto& [id, process] : processes_) {
        if (process.driver) kill(id);
      }
      end_actors_of(0);
      end_reservations_of(0);
    }
  }
}

std::vector<LeaseWorld::Choice> LeaseWorld::choices() const {
  std::vector<Choice> possible;
  for (const auto& [id, process] : processes_) {
    if (!process.up.empty() && process.mute_until <= step_) possible.push_back({Act::kUp, id});
    if (!process.alive && !process.noticed && process.mute_until <= step_) possible.push_back({Act::kNotice, id});
    if (!active(process)) continue;
    if (!process.down.empty()) possible.push_back({Act::kDown, id});
    if (process.to_submit > 0) possible.push_back({Act::kSubmit, id});
    if (can_go_on(process)) possible.push_back({Act::kRun, id});
  }
  for (const auto& [lease, direct] : directs_) {
    if (!direct.to_worker.empty() && active(processes_.at(direct.worker))) possible.push_back({Act::kToWorker, lease});
    if (!direct.to_client.empty() && active(processes_.at(direct.client))) possible.push_back({Act::kToClient, lease});
  }
  if (actors_to_come_ > 0 && !living_roots().empty()) possible.push_back({Act::kCreate});
  if (reservations_to_come_ > 0 && !living_roots().empty()) possible.push_back({Act::kReserve});
  if (!to_spawn_.empty()) possible.push_back({Act::kSpawn});
  if (undecided_) possible.push_back({Act::kDecide});
  return possible;
}

void LeaseWorld::step(const Choice& choice) {
  const auto process = static_cast<ProcessId>(choice.subject);
  switch (choice.act) {
    case Act::kUp:
      return read_up(process);
    case Act::kDown:
      return read_down(process);
    case Act::kToWorker:
      return read_direct_to_worker(choice.subject);
    case Act::kToClient:
      return read_direct_to_client(choice.subject);
    case Act::kRun:
      return go_on(process);
    case Act::kSpawn:
      return spawn();
    case Act::kNotice:
      return notice(process);
    case Act::kDecide:
      return carry_out();
    case Act::kCreate:
      return create_actor();
    case Act::kReserve:
      return make_reservation();
    case Act::kSubmit: {
      --at(process).to_submit;
      const TaskId task = submit(process, at(process).driver ? 0 : 1);
      at(process).children.push_back(task);
      return pump(process);
    }
  }
}

void LeaseWorld::inject_fault() {
  std::vector<ProcessId> drivers, workers, clients;
  for (const auto& [id, process] : processes_) {
    if (!process.alive) continue;
    (process.driver ? drivers : workers).push_back(id);
    if (!process.leases.empty()) clients.push_back(id);
  }
  const auto any = [this](const std::vector<ProcessId>& from) { return from[random_.below(from.size())]; };
  const std::uint32_t kind = random_.below(14);
  if (kind <= 2 && !workers.empty()) {
    log_.fault("worker killed");
    kill(any(workers));
  } else if (kind == 3 && drivers.size() > 1) {
    log_.fault("driver killed");
    kill(any(drivers));
  } else if (kind == 4 && !workers.empty()) {
    log_.fault("worker stopped for a while");
    at(any(workers)).stopped_until = step_ + 20 + random_.below(80);
  } else if (kind == 5) {
    log_.fault("starts fail");
    failing_starts_ += 1 + random_.below(4);
  } else if (kind == 6 && !workers.empty()) {
    log_.fault("socket read late");
    at(any(workers)).mute_until = step_ + 20 + random_.below(60);
  } else if (kind == 7 && !clients.empty()) {
    log_.fault("lease returned twice");
    Process& client = at(any(clients));
    for (const auto& [lease, held] : client.leases) {
      if (!held.sent.empty()) continue;
      client.up.push_back({Kind::kReturnLease, lease});
      client.up.push_back({Kind::kReturnLease, lease});
      client.leases.erase(lease);
      break;
    }
  } else if (kind == 8 && !workers.empty()) {
    log_.fault("message out of place");
    // Never the opposite of what is true for longer than the next message takes.
    const ProcessId worker = any(workers);
    Process& process = at(worker);
    const bool retires = random_.percent(20);
    if (process.hello && retires) process.up.push_back({Kind::kRetiring});
    if (process.hello) process.up.push_back({Kind::kBlocked});
    if (process.hello && !process.blocked) process.up.push_back({Kind::kUnblocked});
    process.up.push_back({Kind::kReturnLease, 1'000'000});
    if (retires) process.calls_left = 1;
    if (retires && process.running == 0) kill(worker);
  } else if (kind == 9 && !clients.empty()) {
    log_.fault("kill asked by a client");
    Process& client = at(any(clients));
    client.up.push_back({Kind::kKillLease, client.leases.begin()->first});
  } else if (kind > 11 && end_any_reservation()) {
    log_.fault("reservation ended");
  } else if (kind < 10 || kind > 11 || !break_actor()) {
    return;  // nothing to break right now; another time
  }
  --faults_left_;
}

// --- the node
// ---------------------------------------------------------------------------------------------------------

void LeaseWorld::read_up(ProcessId id) {
  Process& process = at(id);
  for (std::uint32_t left = 1 + random_.below(3); left > 0 && !process.up.empty(); --left) {
    const Message message = process.up.front();
    process.up.pop_front();
    to_table(id, message);
  }
  undecided_ = true;
  if (random_.percent(60)) carry_out();
}

void LeaseWorld::to_table(ProcessId id, const Message& message) {
  switch (message.kind) {
    case Kind::kHello:
      if (at(id).noticed) return;
      at(id).hello = true;
      table_.client_joined(id);
      return table_.worker_ready(id);
    case Kind::kDemand: {
      return table_.demand_changed(id, {.demand = message.number,
                                        .count = message.count,
                                        .shape = shape_of(message.number),
                                        .leases = message.leases});
    }
    case Kind::kReturnLease:
      return table_.lease_returned(id, message.lease);
    case Kind::kKillLease:
      return table_.lease_kill_asked(id, message.lease);
    case Kind::kBlocked:
      return table_.worker_blocked(id);
    case Kind::kUnblocked:
      return table_.worker_unblocked(id);
    case Kind::kRetiring:
      return table_.worker_retiring(id);
    default:
      throw SimulationViolation("the node got a message that is not for it");
  }
}

void LeaseWorld::carry_out() {
  undecided_ = false;
  clock_ += std::chrono::milliseconds(random_.below(random_.percent(10) ? 3000 : 100));
  if (random_.percent(1)) clock_ += std::chrono::minutes(1);
  if (random_.percent(1)) table_.memory_is_scarce(random_.percent(50));
  table_.tick(clock_);
  for (const Command& command : table_.take_commands()) {
    std::visit([this](const auto& each) { carry_out(each); }, command);
  }
}

void LeaseWorld::carry_out(const StartWorker& command) { to_spawn_.push_back(command.key); }

void LeaseWorld::carry_out(const StopWorker& command) {
  auto found = processes_.find(command.worker);
  if (found == processes_.end() || !found->second.alive) return;
  if (command.kill) {
    kill(command.worker);
  } else {
    found->second.down.push_back({Kind::kQuit});
  }
}

void LeaseWorld::carry_out(const GrantLease& command) {
  if (is_actor(command.client)) return host(command.client, command.lease, command.worker);
  directs_[command.lease] = {.client = command.client, .worker = command.worker, .to_worker = {}, .to_client = {}};
  at(command.client).down.push_back({Kind::kGrant, command.lease, command.demand});
}

void LeaseWorld::carry_out(const ReclaimLeases& command) {
  at(command.client).down.push_back({Kind::kReclaim, 0, command.demand, command.count});
}

void LeaseWorld::carry_out(const LeaseLost& command) {
  if (is_actor(command.client)) return lose_worker(command.client);
  at(command.client).down.push_back({Kind::kLost, command.lease});
}

void LeaseWorld::carry_out(const RefuseDemand& command) {
  if (reservations_.contains(command.client)) throw SimulationViolation("a reservation is refused");
  if (is_actor(command.client)) return end_actor(command.client);
  at(command.client).down.push_back({Kind::kRefused, 0, command.demand});
}

void LeaseWorld::spawn() {
  const WorkerKeyId key = to_spawn_.front();
  to_spawn_.pop_front();
  undecided_ = true;
  if (failing_starts_ > 0) {
    --failing_starts_;
    if (random_.percent(60)) return table_.start_failed(key);
  }
  const ProcessId id = next_process_++;
  Process& worker = processes_[id];
  worker.key = key;
  worker.calls_left = random_.percent(20) ? 1 + random_.below(4) : 1'000'000;
  worker.up.push_back({Kind::kHello});
  table_.worker_starting(id, key);
}

// A death is known by its pidfd at any time, or by the EOF of the socket, once that has been read to the end.
void LeaseWorld::notice(ProcessId id) {
  Process& process = at(id);
  if (!process.up.empty() && random_.percent(50)) return read_up(id);
  undecided_ = true;
  if (process.driver) {
    process.noticed = true;
    table_.client_left(id);
    end_reservations_of(id);
    return end_actors_of(id);
  }
  if (process.hello && !process.half_noticed && process.up.empty() && random_.percent(30)) {
    process.half_noticed = true;
    return table_.client_left(id);
  }
  process.noticed = true;
  table_.worker_left(id, process.hello && random_.percent(30));
}

void LeaseWorld::kill(ProcessId id) {
  Process& process = at(id);
  if (!process.alive) return;
  process.alive = false;
  process.to_submit = 0;
  process.down.clear();
  for (Task& task : tasks_) {
    if (task.owner == id && task.state != TaskState::kEnded) task.state = TaskState::kMoot;
  }
  for (auto& [lease, direct] : directs_) {
    if (direct.client == id) direct.to_client.clear();
    if (direct.worker == id) direct.to_worker.clear();
  }
}

// --- at rest
// ----------------------------------------------------------------------------------------------------------

bool LeaseWorld::wake_something() {
  bool woken = false;
  for (auto& [id, process] : processes_) {
    woken |= process.stopped_until > step_ || process.mute_until > step_;
    process.stopped_until = process.mute_until = 0;
  }
  if (woken) return true;
  if (const std::optional<Moment> due = table_.table().next_due()) {
    clock_ = std::max(clock_, *due);
    carry_out();
    return true;
  }
  check_promises();
  check_actors();
  check_reservations();
  if (return_idle_leases()) return true;
  if (!table_.table().deadlock_suspected()) return end_an_actor_with_resources() || end_any_reservation();
  table_.table().deadlock_stood();
  carry_out();
  return true;
}

// The timer of the clients.
bool LeaseWorld::return_idle_leases() {
  bool returned = false;
  for (auto& [id, process] : processes_) {
    if (!process.alive) continue;
    for (auto& [lease, held] : process.leases) {
      if (held.draining || held.paused || !held.sent.empty()) continue;
      ++process.queues[held.demand].owed;
      returned = true;
    }
    pump(id);
  }
  return returned;
}

// What the reservations that wait, and are served before `row`, keep of what would be `available`.
ResourceSet LeaseWorld::kept_by_reservations_before(const Demand& row, const ResourceSet& available) const {
  ResourceSet kept;
  for (const Demand* each : in_order_of_service(table_.table().state())) {
    if (each == &row) return kept;
    if (each->wanted.needs_no_worker) kept.add(kept_while_waiting(each->asked(), available));
  }
  return {};  // the row has no place in that order
}

// At rest, the leases that still exist are idle or blocked. Then nobody who has nothing may wait for an idle lease of
// another tree, nor anybody for an idle lease of its own.
void LeaseWorld::check_promises() {
  const LeaseLedger& ledger = table_.table().ledger();
  const auto running = ledger.running_by_tree();
  const std::vector<const Demand*> waiting = table_.table().state().demands.all();
  // What is kept for an actor that waits may be what the others would need; and beside devices that actors keep, a share
  // may wait for whole ones before it in the queue, which nobody is asked for.
  const bool kept_for_an_actor =
      std::any_of(waiting.begin(), waiting.end(),
                  [](const Demand* row) { return row->wanted.dedicated && !row->asked().empty(); }) ||
      std::any_of(ledger.leases().begin(), ledger.leases().end(), [](const auto& each) {
        return each.second.dedicated && asks_for_devices(each.second.shape.resources);
      });
  for (const Demand* row : waiting) {
    const bool for_devices = asks_for_devices(row->asked());
    if (kept_for_an_actor && for_devices) continue;
    // A worker that is about to end has them still; it ends when its own idle leases have gone back.
    if (for_devices && ledger.free().covers(table_.table().state().devices.with_fragments(row->asked()))) continue;
    auto found = running.find(ledger.tree(row->client));
    const bool has_nothing = found == running.end() || found->second == 0;
    if (table_.table().workers().given_up(row->key())) continue;
    for (const auto& [id, lease] : ledger.leases()) {
      ResourceSet with = ledger.free();
      with.add(lease.shape.resources);
      with.subtract(kept_by_reservations_before(*row, with));
      const bool may_be_asked = !lease.dedicated && !lease.blocked && !lease.orphaned;
      if (!may_be_asked || !with.covers(table_.table().state().devices.with_fragments(row->asked()))) continue;
      DeviceTable without = table_.table().state().devices;
      without.left(lease.worker);
      if (!without.fits(row->asked())) continue;
      const bool other_tree = ledger.tree(lease.client) != ledger.tree(row->client);
      if ((other_tree && has_nothing) || (lease.client == row->client && waiting.size() == 1)) {
        throw SimulationViolation(fmt::format(
            "client {} {} (demand {}); lease {} of client {}, demand {}, was not asked back", row->client,
            wait_reason(table_.table().state(), *row).text, row->wanted.demand, id, lease.client, lease.demand));
      }
    }
  }
}

void LeaseWorld::check_everything_ended() {
  for (std::size_t id = 1; id < tasks_.size(); ++id) {
    const Task& task = tasks_[id];
    if (task.state == TaskState::kEnded || task.state == TaskState::kMoot) continue;
    std::string reasons;
    for (const Demand* row : table_.table().state().demands.all())
      reasons += fmt::format(" [client {}: {}]", row->client, wait_reason(table_.table().state(), *row).text);
    throw SimulationViolation(fmt::format("task {} of process {} waits for ever:{}", id, task.owner, reasons));
  }
  if (!finishing_) return;
  if (!table_.table().ledger().leases().empty()) throw SimulationViolation("leases are left when all clients are gone");
  const ResourceSet& total = table_.table().state().limits.total;
  if (table_.table().free() != total || table_.table().ledger().total() != total) {
    throw SimulationViolation("resources are missing at the end, or are there that the node has not");
  }
}

}  // namespace fray::scheduler
