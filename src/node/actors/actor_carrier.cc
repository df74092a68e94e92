#include "node/actors/actor_carrier.h"

#include <utility>
#include <variant>

#include "os/clock.h"
#include "os/sockets/socket_pair.h"
#include "scheduler/wait_reasons.h"
#include "wire/exit_text.h"

namespace fray::node {

namespace {
constexpr std::chrono::milliseconds kPause{50};  // before a connection is tried again
}  // namespace

actor::Moment ActorCarrier::now() { return actor::Moment(os::monotonic_ns()); }

// ---- Messages of clients ----

Status ActorCarrier::create(Connection& client, std::uint64_t ticket, wire::CreateActor message) {
  if (message.actor.owner != client.process) {
    return Status(StatusCode::kInvalidArgument, "an actor in the name of another process");
  }
  FRAY_ASSIGN_OR_RETURN(WorkerKeyId key, leases_.keys().find(client.process, message.shape.key));
  ActorSpec spec;
  spec.id = message.actor;
  spec.home = roster_.new_process();
  spec.root = root_for(client.process);
  spec.creator = client.process;
  spec.name_space = message.name_space;
  if (!message.name.empty()) spec.name = message.name;
  spec.class_name = message.class_name;
  spec.detached = message.detached;
  spec.get_if_exists = message.get_if_exists;
  spec.max_restarts = message.max_restarts;
  spec.shape = message.shape;
  spec.shape.key = key;
  Result<ActorId> made = table_.create(std::move(spec));
  if (made.is_ok() && *made == message.actor) {
    Kept& kept = kept_[message.actor];
    kept.creator = client.process;
    kept.description = std::move(message.description);
    const ProcessId home = table_.spec(message.actor)->home;
    objects_.process_joined(home);  // the home holds the objects in the constructor's arguments
    leases_.open_home(home, key, message.event_loop);
  }
  if (ticket == 0) {
    if (!made.is_ok()) refuse(client, message.actor, message.class_name, made.status().message());
    return Status::ok();
  }
  wire::ActorAnswer answer;
  if (made.is_ok()) {
    answer.actor = *made;
    if (*made != message.actor) {
      answer.description = kept_[*made].description;
      objects_.hold(client.process, *made);
    }
  } else {
    answer.code = made.status().code();
    answer.message = made.status().message();
  }
  client.send(wire::ControlType::kActorAnswer, ticket, answer);
  return Status::ok();
}

// No client waits for the answer about an actor without a name: its calls fail with the reason.
void ActorCarrier::refuse(Connection& client, const ActorId& actor, const std::string& class_name,
                          const std::string& reason) {
  wire::ActorLost message;
  message.actor = actor;
  message.fate = wire::ActorFate::kEnded;
  message.class_name = class_name;
  message.cause = reason;
  client.send(wire::ControlType::kActorLost, 0, message);
}

// The driver at the root of the creator's tree, or the home of the detached actor that it works for.
ProcessId ActorCarrier::root_for(ProcessId creator) const {
  const ProcessId root = leases_.root_of(creator, [this](ProcessId process) {
    auto actor = table_.actor_of_home(process);
    return actor && table_.spec(*actor)->detached;
  });
  return root_of_driver_(root);
}

Status ActorCarrier::construct(ProcessId client, wire::ConstructActor message) {
  auto found = kept_.find(message.actor);
  if (found == kept_.end()) return Status::ok();  // the actor was killed before
  Kept& kept = found->second;
  if (kept.creator != client || kept.has_constructor) {
    return Status(StatusCode::kInvalidArgument, "a constructor of an actor that somebody else made, or a second one");
  }
  if (wire::is_failure(message.failure.encoding)) {
    kept.error = std::move(message.failure);
    table_.refused(message.actor, StatusCode::kActorDied, "an argument of its constructor failed");
    return Status::ok();
  }
  const ActorSpec* spec = table_.spec(message.actor);
  if (spec == nullptr) return Status::ok();
  for (const ObjectId& id : message.held) objects_.hold(spec->home, id);
  kept.constructor = std::move(message.constructor);
  kept.has_constructor = true;
  if (std::exchange(kept.wants_worker, false)) request_worker(message.actor);
  return Status::ok();
}

void ActorCarrier::connect(ProcessId client, ActorId actor) { table_.connect(client, actor); }

void ActorCarrier::kill(Connection& client, std::uint64_t ticket, const wire::ActorName& message) {
  auto view = table_.view(message.actor);
  table_.kill(message.actor, message.no_restart);
  if (ticket != 0) kills_.push_back({client.process, ticket, message.actor, view ? view->worker : 0});
}

void ActorCarrier::find(Connection& client, std::uint64_t ticket, const wire::FindActor& message) {
  wire::ActorAnswer answer;
  Result<ActorId> found =
      message.actor == ActorId{} ? table_.find(message.name_space, message.name) : table_.find(message.actor);
  if (found.is_ok()) {
    answer.actor = *found;
    answer.description = kept_[*found].description;
    objects_.hold(client.process, *found);
  } else {
    answer.code = found.status().code();
    answer.message = found.status().message();
  }
  client.send(wire::ControlType::kActorAnswer, ticket, answer);
}

void ActorCarrier::list(Connection& client, std::uint64_t ticket) {
  wire::ActorNames answer;
  for (const actor::NamedActor& one : table_.named(std::nullopt)) answer.names.emplace_back(one.name_space, one.name);
  client.send(wire::ControlType::kActorNames, ticket, answer);
}

void ActorCarrier::client_left(ProcessId client) {
  for (auto& [actor, kept] : kept_) {
    if (kept.creator != client || kept.has_constructor) continue;
    table_.refused(actor, StatusCode::kOwnerDied, "its creator ended before the constructor's arguments were ready");
  }
  table_.client_left(client);
}

// ---- Messages and events of an actor's worker ----

Status ActorCarrier::constructed(ProcessId worker) {
  auto actor = table_.actor_of_worker(worker);
  if (!actor) return Status::ok();  // the worker was told to end meanwhile
  table_.constructed(*actor, table_.view(*actor)->incarnation, now());
  return Status::ok();
}

Status ActorCarrier::constructor_raised(ProcessId worker, wire::ActorFailure failure) {
  auto actor = table_.actor_of_worker(worker);
  if (!actor) return Status::ok();
  kept_[*actor].error = std::move(failure.error);
  table_.constructor_raised(*actor, table_.view(*actor)->incarnation, failure.text);
  return Status::ok();
}

void ActorCarrier::worker_gone(ProcessId worker, const wire::ExitFacts& facts, const WorkerPage& page) {
  auto actor = table_.actor_of_worker(worker);
  if (!actor) return;
  CallsOfCallers& calls = last_calls_[*actor];
  for (const WorkerPage::Caller& caller : page.callers) {
    const ProcessId client = caller.client.load(std::memory_order_acquire);
    if (client == 0) continue;
    calls[client] = {caller.last_started.load(std::memory_order_acquire),
                     caller.last_ended.load(std::memory_order_acquire)};
  }
  report_the_held(*actor);
  const StatusCode code = facts.out_of_memory.empty() ? StatusCode::kWorkerDied : StatusCode::kWorkerOutOfMemory;
  table_.worker_lost(*actor, worker, wire::describe_exit(facts), now(), code);
}

void ActorCarrier::add_last_calls(wire::ActorLost& message, ProcessId client) const {
  message.last_started = wire::ActorLost::kUnknown;
  auto calls = last_calls_.find(message.actor);
  if (calls == last_calls_.end()) return;
  if (auto found = calls->second.find(client); found != calls->second.end()) {
    message.last_started = found->second.started;
    message.last_ended = found->second.ended;
  } else if (calls->second.size() < WorkerPage::kCallers) {
    message.last_started = 0;  // the caller never had a connection to it
  }
}

void ActorCarrier::forgotten(const ObjectId& object) {
  if (!kept_.contains(object)) return;
  table_.unreferenced(object);
  table_.forgotten(object);
}

// ---- Commands ----

WaitReason ActorCarrier::why_waiting(const actor::ActorView& view) const {
  switch (view.state) {
    case actor::ActorState::kStarting:
      return {view.reason, "It is alive when its constructor has returned; its stack says where that is."};
    case actor::ActorState::kBackingOff:
      return {view.reason, "It is restarted by itself, after a pause that grows."};
    case actor::ActorState::kEnding:
      return {view.reason, "It ends by itself."};
    case actor::ActorState::kPending:
      break;
    default:
      return {};
  }
  auto kept = kept_.find(view.id);
  if (kept != kept_.end() && !kept->second.has_constructor) {
    return {"waits for the arguments of its constructor", "It starts when the tasks that make them have ended."};
  }
  if (std::string making = leases_.env_reason(view.home, 0); !making.empty()) {
    return {std::move(making), kEnvWayOn};
  }
  WaitReason lease = scheduler::why_waiting(leases_.table().state(), view.home);
  return lease.text.empty() ? WaitReason{view.reason, "It starts as soon as its worker is there."} : lease;
}

bool ActorCarrier::carry_out() {
  bool something = false;
  while (true) {
    std::vector<actor::Command> commands = table_.take_commands();
    if (commands.empty()) break;
    something = true;
    for (const actor::Command& command : commands) {
      std::visit([this](const auto& known) { carry_out(known); }, command);
    }
  }
  last_calls_.clear();
  answer_kills();
  watch_clock();
  return something;
}

void ActorCarrier::carry_out(const actor::RequestWorker& command) {
  Kept& kept = kept_[command.actor];
  if (!kept.has_constructor) {
    kept.wants_worker = true;
    return;
  }
  request_worker(command.actor);
}

void ActorCarrier::request_worker(const ActorId& actor) {
  const ActorSpec* spec = table_.spec(actor);
  if (spec == nullptr) return;
  leases_.demand_for_home(spec->home, spec->detached ? 0 : spec->root, spec->shape);
}

void ActorCarrier::granted(ProcessId home, LeaseId lease, ProcessId worker) {
  auto actor = table_.actor_of_home(home);
  if (!actor) return leases_.close_home(home);
  kept_[*actor].lease = lease;
  table_.granted(*actor, worker);
}

void ActorCarrier::refused(ProcessId home, StatusCode code, const std::string& reason) {
  if (auto actor = table_.actor_of_home(home)) table_.refused(*actor, code, "no worker could be had for it: " + reason);
}

void ActorCarrier::carry_out(const actor::StartActor& command) {
  Connection* worker = roster_.find(command.worker);
  if (worker == nullptr) return;  // the table is being told of its end
  wire::HostActor message;
  message.actor = command.actor;
  message.incarnation = command.incarnation;
  if (const ActorSpec* spec = table_.spec(command.actor)) message.cpus = spec->shape.resources.amount("CPU");
  message.constructor = kept_[command.actor].constructor;
  worker->send(wire::ControlType::kHostActor, 0, message);
}

void ActorCarrier::carry_out(const actor::EndWorker& command) {
  const ActorSpec* spec = table_.spec(command.actor);
  if (spec != nullptr) leases_.return_lease(spec->home, kept_[command.actor].lease);
}

void ActorCarrier::carry_out(const actor::KillWorker& command) {
  const ActorSpec* spec = table_.spec(command.actor);
  if (spec != nullptr) leases_.kill_lease(spec->home, kept_[command.actor].lease);
}

void ActorCarrier::carry_out(const actor::Connect& command) {
  Connection* client = roster_.find(command.client);
  Connection* worker = roster_.find(command.worker);
  if (client == nullptr || worker == nullptr) return;  // the table is being told of their end
  auto ends = os::make_socket_pair();
  if (!ends.is_ok()) {
    loop_.after(kPause, [this, command] { table_.connect(command.client, command.actor); });
    return;
  }
  wire::ActorConnected message;
  message.actor = command.actor;
  message.incarnation = command.incarnation;
  message.pid = worker->pid;
  client->send(wire::ControlType::kActorConnected, 0, message, std::move(ends->first));
  wire::Lease lease;
  lease.client = command.client;
  worker->send(wire::ControlType::kLease, 0, lease, std::move(ends->second));
}

wire::ActorLost ActorCarrier::lost_message(const ActorId& actor, ProcessId client) const {
  wire::ActorLost message;
  message.actor = actor;
  if (const ActorSpec* spec = table_.spec(actor)) {
    message.class_name = spec->class_name;
    message.name = spec->name.value_or("");
  }
  add_last_calls(message, client);
  return message;
}

void ActorCarrier::carry_out(const actor::ReportLost& command) {
  Connection* client = roster_.find(command.client);
  if (client == nullptr) return;
  wire::ActorLost message = lost_message(command.actor, command.client);
  message.cause = "its process ended while it ran the call; another incarnation takes its place";
  if (command.code == StatusCode::kWorkerOutOfMemory) message.code = command.code;
  client->send(wire::ControlType::kActorLost, 0, message);
}

// A caller that is connected to an incarnation which is being killed is told when its process has ended.
void ActorCarrier::carry_out(const actor::ReportDead& command) {
  const bool killed =
      command.death.cause == actor::DeathCause::kKilled || command.death.cause == actor::DeathCause::kRootGone;
  auto view = table_.view(command.actor);
  if (killed && view && view->worker != 0 && !last_calls_.contains(command.actor)) {
    held_.push_back(command);
  } else {
    report(command);
  }
}

void ActorCarrier::report_the_held(const ActorId& actor) {
  std::vector<actor::ReportDead> due;
  std::erase_if(held_, [&](const actor::ReportDead& command) {
    if (command.actor != actor) return false;
    due.push_back(command);
    return true;
  });
  for (const actor::ReportDead& command : due) report(command);
}

// A kill is answered after the clients were told that the actor has ended.
void ActorCarrier::answer_kills() {
  std::erase_if(kills_, [this](const Kill& kill) {
    auto view = kill.worker == 0 ? std::nullopt : table_.view(kill.actor);
    if (view && view->worker == kill.worker) return false;
    roster_.send(kill.client, wire::ControlType::kActorAnswer, kill.ticket, wire::ActorAnswer());
    return true;
  });
}

void ActorCarrier::report(const actor::ReportDead& command) {
  Connection* client = roster_.find(command.client);
  if (client == nullptr) return;
  wire::ActorLost message = lost_message(command.actor, command.client);
  message.fate = wire::ActorFate::kEnded;
  message.cause = command.death.text;
  if (command.death.cause == actor::DeathCause::kCannotStart || command.death.code == StatusCode::kWorkerOutOfMemory) {
    message.code = command.death.code;
  }
  if (auto kept = kept_.find(command.actor); kept != kept_.end()) message.error = kept->second.error;
  if (wire::is_failure(message.error.encoding)) message.fate = wire::ActorFate::kConstructorFailed;
  client->send(wire::ControlType::kActorLost, 0, message);
}

void ActorCarrier::carry_out(const actor::CloseHome& command) {
  leases_.close_home(command.home);
  objects_.process_left(command.home, false);
  if (auto kept = kept_.find(command.actor); kept != kept_.end()) {
    kept->second.constructor.clear();
    kept->second.constructor.shrink_to_fit();
  }
}

void ActorCarrier::carry_out(const actor::Forget& command) { kept_.erase(command.actor); }

// Wakes when the next restart is due.
void ActorCarrier::watch_clock() {
  auto due = table_.next_due();
  if (timer_ != 0 && (!due || *due != timer_due_)) {
    loop_.cancel(timer_);
    timer_ = 0;
  }
  if (!due || timer_ != 0) return;
  timer_due_ = *due;
  const actor::Moment delay = std::max(*due - now(), actor::Moment(0));
  timer_ = loop_.after(delay, [this] {
    timer_ = 0;
    table_.tick(now());
  });
}

}  // namespace fray::node
