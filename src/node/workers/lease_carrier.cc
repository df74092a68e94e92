#include "node/workers/lease_carrier.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "os/clock.h"
#include "os/sockets/socket_pair.h"

namespace fray::node {

namespace {

constexpr std::chrono::milliseconds kDeadlockPatience{100};
constexpr std::chrono::milliseconds kLastMoment{50};  // for the end of a worker whose socket has ended

}  // namespace

LeaseCarrier::LeaseCarrier(event::Loop& loop, Roster& roster, WorkerProcesses& processes, scheduler::Limits limits,
                           DeviceNames device_names, Homes homes)
    : loop_(loop),
      roster_(roster),
      processes_(processes),
      table_(std::move(limits)),
      starts_(loop, roster, processes, table_),
      keys_(loop, roster, processes, starts_, table_.supply()),
      device_names_(std::move(device_names)),
      on_homes_(std::move(homes)) {}

// ---- Processes ----

void LeaseCarrier::client_left(ProcessId client) {
  table_.client_left(client);
  keys_.client_left(client);
}

void LeaseCarrier::worker_ready(ProcessId worker) {
  processes_.started_well(worker);
  keys_.define_own(worker, processes_.workers().at(worker).key);  // tasks that it submits run in workers like itself
  table_.client_joined(worker);
  table_.worker_ready(worker);
}

void LeaseCarrier::worker_gone(ProcessId worker, WorkerEnd end, const wire::ExitFacts& facts) {
  losses_[worker] = {end == WorkerEnd::kExpected, facts};
  table_.worker_left(worker, end == WorkerEnd::kUnused);
  last_clients_.erase(worker);
  keys_.note_change();
}

void LeaseCarrier::retiring(ProcessId worker) {
  table_.worker_retiring(worker);
  processes_.expect_end(worker);
}

ProcessId LeaseCarrier::root_of(ProcessId process, const std::function<bool(ProcessId)>& is_root) const {
  constexpr int kDeepest = 100'000;
  for (int depth = 0; depth < kDeepest && process != 0; ++depth) {
    if (is_root && is_root(process)) return process;
    Connection* connection = roster_.find(process);
    if (connection != nullptr && connection->role == wire::Role::kDriver) return process;
    auto client = last_clients_.find(process);
    process = client == last_clients_.end() ? 0 : client->second;
  }
  return 0;
}

// ---- Messages of clients ----

Status LeaseCarrier::define_key(ProcessId client, const wire::DefineKey& message) {
  if (message.description.command.empty())
    return Status(StatusCode::kInvalidArgument, "a worker key without a command");
  const WorkerKeyId key = keys_.define(client, message.key, message.description);
  // The client will soon want workers of its own key (0). Other keys are runtime envs, of which a program may define
  // many and use few.
  if (message.key == 0) {
    keys_.use_again(key);
    processes_.warm_up(key);
  }
  if (message.prestart > 0) table_.supply().prestart(key, message.prestart);
  return Status::ok();
}

Status LeaseCarrier::demand(ProcessId client, const wire::Demand& message) {
  FRAY_ASSIGN_OR_RETURN(WorkerKeyId key, keys_.find(client, message.shape.key));
  scheduler::DemandChange wanted{
      .demand = message.demand, .count = message.count, .shape = message.shape, .leases = message.leases};
  wanted.shape.key = scheduler::key_for(key, message.shape.resources);
  table_.demand_changed(client, wanted);
  keys_.note_change();
  if (message.count > 0) keys_.use_again(key);
  return Status::ok();
}

void LeaseCarrier::return_lease(ProcessId client, LeaseId lease) {
  table_.lease_returned(client, lease);
  keys_.note_change();
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

// ---- Homes of actors ----

void LeaseCarrier::open_home(ProcessId home, WorkerKeyId key, bool event_loop) {
  keys_.define_own(home, key);
  processes_.expect_actor(key, event_loop);
}

void LeaseCarrier::demand_for_home(ProcessId home, ProcessId root, WorkShape shape) {
  if (homes_.try_emplace(home, shape.key).second) {
    keys_.actor_begins(shape.key);
    table_.client_joined(home, root);
    if (root != 0) last_clients_[home] = root;
  }
  keys_.use_again(shape.key);
  shape.key = scheduler::key_for(shape.key, shape.resources);
  table_.demand_changed(home, {.count = 1, .shape = std::move(shape), .dedicated = true});
}

void LeaseCarrier::close_home(ProcessId home) {
  keys_.client_left(home);
  auto asked = homes_.extract(home);
  if (!asked) return;
  keys_.actor_ends(asked.mapped());
  table_.client_left(home);
  last_clients_.erase(home);
}

// ---- Rounds ----

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
  const bool keys_changed = keys_.take_change();
  if (keys_changed) keys_.let_go();
  table_.tick(now());
  while (true) {
    std::vector<scheduler::Command> commands = table_.take_commands();
    for (const scheduler::Command& command : commands) {
      std::visit([this](const auto& known) { carry_out(known); }, command);
    }
    if (commands.empty() && !starts_.carry_out()) break;
  }
  watch_clock();
  losses_.clear();
  starts_.end_round();
  if (keys_changed) keys_.forget_unused();
  watch_for_deadlock();
}

void LeaseCarrier::env_settled(WorkerKeyId key) {
  starts_.env_settled(key);
  loop_.request_round();
}

std::string LeaseCarrier::env_reason(ProcessId client, std::uint32_t demand) const {
  const scheduler::Demand* waiting = table_.state().demands.find(client, demand);
  return waiting == nullptr ? "" : starts_.env_reason(waiting->key());
}

// ---- Commands of the table ----

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
    return on_homes_.granted(command.client, command.lease, command.worker);
  }
  Connection* client = roster_.find(command.client);
  Connection* worker = roster_.find(command.worker);
  if (client == nullptr || worker == nullptr) return;  // the table is being told of their end
  auto ends = os::make_socket_pair();
  if (!ends.is_ok()) {
    table_.lease_returned(command.client, command.lease);
    table_.demand_changed(command.client, {.demand = command.demand});
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

// The devices must reach the worker before the message that says what its lease is for.
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
  if (command.code == StatusCode::kUnavailable) {
    const scheduler::Demand* refused = table_.state().demands.find(command.client, command.demand);
    if (refused != nullptr) starts_.explain(refused->key(), message);
  }
  if (homes_.contains(command.client)) return on_homes_.refused(command.client, message.code, message.reason);
  roster_.send(command.client, wire::ControlType::kDemandRefused, 0, message);
}

bool LeaseCarrier::an_actor_works() const {
  for (const auto& [id, lease] : table_.ledger().leases()) {
    auto process = processes_.workers().find(lease.worker);
    if (!lease.dedicated || lease.blocked || process == processes_.workers().end()) continue;
    if (process->second.view()->state.load(std::memory_order_relaxed) == WorkerState::kRunning) return true;
  }
  return false;
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
