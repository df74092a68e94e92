#include "node/workers/lease_carrier.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "os/clock.h"
#include "os/sockets/socket_pair.h"

namespace fray::node {

namespace {

constexpr std::chrono::milliseconds kDeadlockPatience{100};
constexpr std::chrono::milliseconds kLastMoment{50};  // for the end of a worker whose socket has ended

template <typename Map>
void erase_client(Map& map, ProcessId client) {
  auto first = map.lower_bound({client, 0});
  auto last = map.lower_bound({client + 1, 0});
  map.erase(first, last);
}

}  // namespace

LeaseCarrier::LeaseCarrier(event::Loop& loop, Roster& roster, WorkerProcesses& processes, scheduler::Limits limits,
                           DeviceNames device_names)
    : loop_(loop),
      roster_(roster),
      processes_(processes),
      table_(std::move(limits)),
      device_names_(std::move(device_names)) {
  processes_.set_on_env([this](WorkerKeyId key) { env_settled(key); });
}

void LeaseCarrier::client_left(ProcessId client) {
  table_.client_left(client);
  for (auto each = keys_.lower_bound({client, 0}); each != keys_.end() && each->first.first == client; ++each) {
    undefine(each->second);
  }
  erase_client(keys_, client);
  erase_client(demand_keys_, client);
  keys_changed_ = true;
}

void LeaseCarrier::worker_ready(ProcessId worker) {
  processes_.started_well(worker);
  // Tasks that the worker submits run in workers of its own key.
  const WorkerKeyId key = processes_.workers().at(worker).key;
  if (keys_.emplace(std::pair(worker, 0), key).second) ++definitions_[key];
  table_.client_joined(worker);
  table_.worker_ready(worker);
}

void LeaseCarrier::worker_gone(ProcessId worker, bool expected, const wire::ExitFacts& facts) {
  losses_[worker] = {expected, facts};
  table_.worker_left(worker);
  last_clients_.erase(worker);
  keys_changed_ = true;
}

Status LeaseCarrier::define_key(ProcessId client, const wire::DefineKey& message) {
  if (message.description.command.empty())
    return Status(StatusCode::kInvalidArgument, "a worker key without a command");
  WorkerKeyId key = processes_.define(message.description);
  ++definitions_[key];
  const auto [slot, is_new] = keys_.try_emplace({client, message.key}, key);
  if (!is_new) undefine(std::exchange(slot->second, key));
  keys_changed_ = true;
  // The client will soon want workers of its own key (0). Other keys are runtime envs, of which a program may define
  // many and use few.
  if (message.key == 0) {
    use_again(key);
    processes_.warm_up(key);
  }
  if (message.prestart > 0) table_.prestart(key, message.prestart);
  return Status::ok();
}

void LeaseCarrier::forget_key(ProcessId client, std::uint32_t number) {
  auto found = keys_.find({client, number});
  if (found == keys_.end()) return;
  undefine(found->second);
  keys_.erase(found);
}

// A key that no client uses any more is forgotten as soon as it has no fork server. The fork server of an unused key
// ends some time after its last use.
void LeaseCarrier::undefine(WorkerKeyId key) {
  auto found = definitions_.find(key);
  if (found == definitions_.end() || --found->second > 0) return;
  definitions_.erase(found);
  undefined_keys_.insert(key);
  keys_changed_ = true;
}

Result<WorkerKeyId> LeaseCarrier::key_of(ProcessId client, std::uint32_t number) const {
  auto key = keys_.find({client, number});
  if (key != keys_.end()) return key->second;
  return Status(StatusCode::kInvalidArgument, "a message names a worker key that was not defined");
}

void LeaseCarrier::keep_key(ProcessId home, WorkerKeyId key) {
  if (home_keys_.emplace(home, key).second) ++definitions_[key];
}

void LeaseCarrier::demand_for_home(ProcessId home, ProcessId root, WorkShape shape) {
  if (homes_.insert(home).second) {
    table_.client_joined(home, root);
    if (root != 0) last_clients_[home] = root;
  }
  use_again(shape.key);
  shape.key = scheduler::key_for(shape.key, shape.resources);
  forget_home_key(home);
  demand_keys_[{home, 0}] = shape.key;
  ++keys_of_homes_[scheduler::base_key(shape.key)];
  table_.demand_changed(home, {.count = 1, .shape = std::move(shape), .dedicated = true});
}

void LeaseCarrier::close_home(ProcessId home) {
  if (auto kept = home_keys_.find(home); kept != home_keys_.end()) {
    undefine(kept->second);
    home_keys_.erase(kept);
  }
  if (homes_.erase(home) == 0) return;
  table_.client_left(home);
  last_clients_.erase(home);
  forget_home_key(home);
  keys_changed_ = true;
}

void LeaseCarrier::forget_home_key(ProcessId home) {
  auto known = demand_keys_.find({home, 0});
  if (known == demand_keys_.end()) return;
  auto count = keys_of_homes_.find(scheduler::base_key(known->second));
  if (--count->second == 0) keys_of_homes_.erase(count);
  demand_keys_.erase(known);
}

Status LeaseCarrier::demand(ProcessId client, const wire::Demand& message) {
  FRAY_ASSIGN_OR_RETURN(WorkerKeyId key, key_of(client, message.shape.key));
  const WorkerKeyId workers = scheduler::key_for(key, message.shape.resources);
  scheduler::DemandChange wanted{.demand = message.demand, .count = message.count, .shape = message.shape};
  wanted.shape.key = workers;
  table_.demand_changed(client, wanted);
  keys_changed_ = true;
  if (message.count == 0) {
    demand_keys_.erase({client, message.demand});
  } else {
    demand_keys_[{client, message.demand}] = workers;
    use_again(key);
  }
  return Status::ok();
}

void LeaseCarrier::return_lease(ProcessId client, LeaseId lease) {
  table_.lease_returned(client, lease);
  keys_changed_ = true;
}

void LeaseCarrier::retiring(ProcessId worker) {
  table_.worker_retiring(worker);
  processes_.expect_end(worker);
}

// Most sockets end because their worker does. Its own exit status says more than that of a kill, so the node waits a
// moment for it.
void LeaseCarrier::lease_broken(ProcessId client, LeaseId lease) {
  loop_.after(kLastMoment, [this, client, lease] { end_unreachable(client, lease); });
}

void LeaseCarrier::end_unreachable(ProcessId client, LeaseId lease) {
  const scheduler::HeldLease* held = table_.ledger().find(lease);
  if (held == nullptr || held->client != client) return;
  processes_.kill(held->worker, false,
                  "it lived on without its connection to the process that had sent the task; a task may have closed "
                  "descriptors that it had not opened");
}

ProcessId LeaseCarrier::last_client(ProcessId worker) const {
  auto found = last_clients_.find(worker);
  return found == last_clients_.end() ? 0 : found->second;
}

ProcessId LeaseCarrier::root_of(ProcessId process, const std::function<bool(ProcessId)>& is_root) const {
  constexpr int kDeepest = 100'000;
  for (int depth = 0; depth < kDeepest && process != 0; ++depth) {
    if (is_root && is_root(process)) return process;
    Connection* connection = roster_.find(process);
    if (connection != nullptr && connection->role == wire::Role::kDriver) return process;
    process = last_client(process);
  }
  return 0;
}

scheduler::Moment LeaseCarrier::now() { return scheduler::Moment(os::monotonic_ns()); }

void LeaseCarrier::watch_clock() {
  const std::optional<scheduler::Moment> due = table_.next_due();
  if (due && clock_timer_ != 0 && *due == clock_due_) return;
  loop_.cancel(std::exchange(clock_timer_, 0));
  if (!due) return;
  clock_due_ = *due;
  clock_timer_ = loop_.after(std::max(scheduler::Moment(0), *due - now()), [this] { clock_timer_ = 0; });
}

void LeaseCarrier::carry_out() {
  const bool keys_changed = std::exchange(keys_changed_, false);
  if (keys_changed) let_go_of_keys();
  table_.tick(now());
  while (true) {
    std::vector<scheduler::Command> commands = table_.take_commands();
    for (const scheduler::Command& command : commands) {
      std::visit([this](const auto& known) { carry_out(known); }, command);
    }
    if (!commands.empty()) continue;
    if (starts_.empty()) break;
    // Starting processes takes long, so messages that are ready are sent first.
    roster_.end_round();
    for (WorkerKeyId key : std::exchange(starts_, {})) start_worker(key);
  }
  watch_clock();
  losses_.clear();
  for (WorkerKeyId key : std::exchange(told_envs_, {})) processes_.forgive_env(key);
  if (keys_changed) forget_keys();
  watch_for_deadlock();
}

void LeaseCarrier::carry_out(const scheduler::StartWorker& command) {
  const WorkerKeyId base = scheduler::base_key(command.key);
  processes_.make_env(base);
  if (processes_.env_state(base) != EnvState::kReady) {
    starts_without_env_[base].push_back(command.key);
    if (processes_.env_state(base) == EnvState::kFailed) answer_starts(base);
    return;
  }
  std::chrono::milliseconds delay = processes_.start_delay(base);
  if (delay.count() == 0) return starts_.push_back(command.key);
  loop_.after(delay, [this, key = command.key] { start_worker(key); });
}

void LeaseCarrier::env_settled(WorkerKeyId base) {
  answer_starts(base);
  loop_.request_round();
}

void LeaseCarrier::answer_starts(WorkerKeyId base) {
  auto found = starts_without_env_.find(base);
  if (found == starts_without_env_.end()) return;
  const std::vector<WorkerKeyId> starts = std::move(found->second);
  starts_without_env_.erase(found);
  const bool ready = processes_.env_state(base) == EnvState::kReady;
  for (WorkerKeyId key : starts) ready ? start_worker(key) : table_.start_failed(key);
}

std::string LeaseCarrier::env_reason(ProcessId client, std::uint32_t demand) const {
  auto key = demand_keys_.find({client, demand});
  if (key == demand_keys_.end()) return {};
  const WorkerKeyId base = scheduler::base_key(key->second);
  return processes_.env_state(base) == EnvState::kMaking ? "runtime env: " + processes_.env_text(base) : "";
}

void LeaseCarrier::start_worker(WorkerKeyId key) {
  ProcessId worker = roster_.new_process();
  if (processes_.start(scheduler::base_key(key), worker).is_ok()) {
    table_.worker_starting(worker, key);
  } else {
    table_.start_failed(key);  // the key has the reason
  }
}

void LeaseCarrier::carry_out(const scheduler::StopWorker& command) {
  if (command.kill) return processes_.kill(command.worker, true);
  processes_.will_end(command.worker);
  if (Connection* connection = roster_.find(command.worker)) {
    connection->end(Status(StatusCode::kCancelled, "the worker is not needed any more"));
  }
}

void LeaseCarrier::carry_out(const scheduler::GrantLease& command) {
  if (homes_.contains(command.client)) {
    last_clients_[command.worker] = command.client;
    bind_devices(command);
    return homes_events_.granted(command.client, command.lease, command.worker);
  }
  Connection* client = roster_.find(command.client);
  Connection* worker = roster_.find(command.worker);
  if (client == nullptr || worker == nullptr) return;  // the table is being told of their end
  auto ends = os::make_socket_pair();
  if (!ends.is_ok()) {
    table_.lease_returned(command.client, command.lease);
    scheduler::DemandChange none;
    none.demand = command.demand;
    none.shape.key = demand_keys_[{command.client, command.demand}];
    table_.demand_changed(command.client, none);
    wire::DemandRefused refusal;
    refusal.demand = command.demand;
    refusal.code = StatusCode::kUnavailable;
    refusal.reason = "the node cannot hand out a worker: " + ends.status().message();
    return client->send(wire::ControlType::kDemandRefused, 0, refusal);
  }
  last_clients_[command.worker] = command.client;
  wire::Grant grant;
  grant.demand = command.demand;
  grant.worker = command.worker;
  grant.pid = worker->pid;
  client->send(wire::ControlType::kGrant, command.lease, grant, std::move(ends->first));
  bind_devices(command);
  wire::Lease lease;
  lease.client = command.client;
  if (const scheduler::HeldLease* held = table_.ledger().find(command.lease))
    lease.cpus = held->shape.resources.amount("CPU");
  worker->send(wire::ControlType::kLease, command.lease, lease, std::move(ends->second));
}

// Must precede the message that tells the worker what its lease is for.
void LeaseCarrier::bind_devices(const scheduler::GrantLease& command) {
  if (command.devices.empty()) return;
  wire::BindDevices binding{command.devices, device_names_.environment(command.devices)};
  roster_.send(command.worker, wire::ControlType::kBindDevices, 0, binding);
}

void LeaseCarrier::carry_out(const scheduler::ReclaimLeases& command) {
  roster_.send(command.client, wire::ControlType::kReclaim, 0, wire::Reclaim{command.count, command.demand});
}

void LeaseCarrier::carry_out(const scheduler::LeaseLost& command) {
  wire::WorkerLost message;
  if (auto found = losses_.find(command.worker); found != losses_.end()) {
    message.expected = found->second.expected;
    message.facts = found->second.facts;
  }
  roster_.send(command.client, wire::ControlType::kWorkerLost, command.lease, message);
}

void LeaseCarrier::carry_out(const scheduler::RefuseDemand& command) {
  wire::DemandRefused message;
  message.demand = command.demand;
  message.code = command.code;
  message.reason = command.reason;
  auto key = demand_keys_.find({command.client, command.demand});
  if (command.code == StatusCode::kUnavailable && key != demand_keys_.end()) {
    const WorkerKeyId base = scheduler::base_key(key->second);
    if (processes_.env_state(base) == EnvState::kFailed) {
      message.code = StatusCode::kRuntimeEnv;
      message.reason = processes_.env_text(base);
      told_envs_.insert(base);
    } else {
      message.code = processes_.failure_code(base);
      message.reason += ": " + processes_.failure_reason(base);
    }
  }
  if (homes_.contains(command.client)) return homes_events_.refused(command.client, message.code, message.reason);
  roster_.send(command.client, wire::ControlType::kDemandRefused, 0, message);
}

bool LeaseCarrier::an_actor_works() const {
  for (ProcessId worker : table_.unblocked_dedicated()) {
    auto process = processes_.workers().find(worker);
    if (process == processes_.workers().end()) continue;
    if (process->second.view()->state.load(std::memory_order_relaxed) == WorkerState::kRunning) return true;
  }
  return false;
}

// Ends fork servers and idle workers of unused keys; those of recently used keys end only after a while.
void LeaseCarrier::let_go_of_keys() {
  std::vector<WorkerKeyId> existing = processes_.awake_keys();
  std::erase_if(existing, [this](WorkerKeyId key) { return ending_keys_.contains(key); });
  const std::uint64_t now = os::monotonic_ns();
  for (WorkerKeyId key : key_keeper_.surplus(existing, keys_in_use(), now)) {
    for (WorkerKeyId each : {key, scheduler::device_key(key)}) table_.key_unused(each, true);
    ending_keys_.insert(key);
  }
  if (keys_timer_ != 0 || key_keeper_.next_ns() == 0) return;
  const std::uint64_t left = key_keeper_.next_ns() - std::min(now, key_keeper_.next_ns());
  keys_timer_ = loop_.after(std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(left)), [this] {
    keys_timer_ = 0;
    keys_changed_ = true;
  });
}

std::set<WorkerKeyId> LeaseCarrier::keys_in_use() const {
  std::set<WorkerKeyId> used;
  for (WorkerKeyId key : table_.keys_in_use()) used.insert(scheduler::base_key(key));
  for (const Connection* driver : roster_.drivers()) {
    if (auto own = keys_.find({driver->process, 0}); own != keys_.end()) used.insert(own->second);
  }
  // An actor may need another worker when its own has ended.
  for (const auto& [key, homes] : keys_of_homes_) used.insert(key);
  return used;
}

void LeaseCarrier::forget_keys() {
  const auto drop = [this](WorkerKeyId key) {
    for (WorkerKeyId each : {key, scheduler::device_key(key)}) table_.forget_key(each);
  };
  std::erase_if(ending_keys_, [&](WorkerKeyId key) {
    if (!processes_.rest(key)) return false;
    if (auto starts = starts_without_env_.find(key); starts != starts_without_env_.end()) {
      for (WorkerKeyId each : starts->second) table_.start_failed(each);
      starts_without_env_.erase(starts);
    }
    drop(key);
    return true;
  });
  const std::vector<WorkerKeyId> awake = undefined_keys_.empty() ? std::vector<WorkerKeyId>() : processes_.awake_keys();
  std::erase_if(undefined_keys_, [&](WorkerKeyId key) {
    if (definitions_.contains(key)) return true;  // a new client has the same key
    if (std::binary_search(awake.begin(), awake.end(), key) || !processes_.rest(key)) return false;
    processes_.forget(key);
    drop(key);
    return true;
  });
}

void LeaseCarrier::use_again(WorkerKeyId key) {
  if (ending_keys_.erase(key) == 0) return;
  for (WorkerKeyId each : {key, scheduler::device_key(key)}) table_.key_unused(each, false);
}

// A message that is still on its way may end an apparent deadlock, so only one that lasts counts.
void LeaseCarrier::watch_for_deadlock() {
  if (!table_.deadlock_suspected() || an_actor_works()) {
    loop_.cancel(deadlock_timer_);
    deadlock_timer_ = 0;
  } else if (deadlock_timer_ == 0) {
    deadlock_timer_ = loop_.after(kDeadlockPatience, [this] {
      deadlock_timer_ = 0;
      table_.deadlock_stood();
    });
  }
}

}  // namespace fray::node
