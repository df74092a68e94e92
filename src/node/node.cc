#include "node/node.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/log_line.h"
#include "node/status_report.h"
#include "os/clock.h"
#include "os/files/run_folder.h"
#include "os/machine/installation.h"
#include "os/machine/kernel.h"
#include "os/process/child_processes.h"
#include "wire/welcome.h"

namespace fray::node {

namespace {

using wire::ControlType;

constexpr std::chrono::milliseconds kKillLimit{3000};

std::uint32_t draw_epoch() {
  std::uint32_t epoch = 0;
  if (::getrandom(&epoch, sizeof(epoch), 0) != static_cast<ssize_t>(sizeof(epoch))) {
    epoch = static_cast<std::uint32_t>(os::monotonic_ns());
  }
  return epoch == 0 ? 1 : epoch;
}

Status forbidden(const Connection& connection, ControlType type) {
  return Status(StatusCode::kInvalidArgument, fmt::format("process {} may not send a message of type {}",
                                                          connection.pid, static_cast<unsigned>(type)));
}

}  // namespace

Result<std::unique_ptr<Node>> Node::create(event::Loop& loop, Settings settings) {
  FRAY_RETURN_IF_ERROR(os::check_kernel());
  FRAY_RETURN_IF_ERROR(os::become_subreaper());
  FRAY_ASSIGN_OR_RETURN(SessionFolder folder, SessionFolder::create(settings.options.session_folder));
  FRAY_ASSIGN_OR_RETURN(settings.job_rules, JobRules::read());
  auto node = std::make_unique<Node>(loop, std::move(settings), std::move(folder));
  FRAY_RETURN_IF_ERROR(node->roster_.listen(node->folder_.socket_path()));
  node->jobs_.restore();
  FRAY_RETURN_IF_ERROR(node->folder_.announce(::getpid(), node->settings_.release));
  return node;
}

Node::Node(event::Loop& loop, Settings settings, SessionFolder folder)
    : loop_(loop),
      settings_(std::move(settings)),
      started_ns_(os::monotonic_ns()),
      epoch_(draw_epoch()),
      folder_(std::move(folder)),
      roster_(
          loop, [this](Connection& connection, wire::Incoming& frame) { return frame_arrived(connection, frame); },
          [this](Connection& connection, const Status& why) { connection_ended(connection, why); }),
      logs_(loop, [this](ProcessId worker) { return log_audience(worker); }),
      processes_(loop, *settings_.spawner, logs_,
                 {[this](ProcessId, os::Fd socket) { return roster_.adopt(std::move(socket)) != nullptr; },
                  [this](ProcessId worker, WorkerEnd end, const wire::ExitFacts& facts, const WorkerPage& page) {
                    worker_gone(worker, end, facts, page);
                  },
                  [this](WorkerKeyId key) { leases_.env_settled(key); }}),
      leases_(loop, roster_, processes_, {settings_.options.total, settings_.options.max_workers},
              DeviceNames(settings_.options.gpus),
              {[this](ProcessId home, LeaseId lease, ProcessId worker) { actors_.granted(home, lease, worker); },
               [this](ProcessId home, StatusCode code, const std::string& why) { actors_.refused(home, code, why); }}),
      memory_(loop, roster_, settings_.options.store_memory_bytes, settings_.options.spill_folder),
      objects_(roster_, memory_, epoch_, [this](const ObjectId& object) { actors_.forgotten(object); }),
      actors_(loop, roster_, leases_, objects_, [this](ProcessId driver) { return root_of_driver(driver); }),
      waits_(roster_, actors_.table()),
      environments_(loop, *settings_.spawner),
      jobs_(
          loop, *settings_.spawner, roster_, leases_, actors_, environments_,
          [this](pid_t pid) { return tree_of_worker(pid); }, job_settings()),
      watch_(
          loop, processes_, leases_.table(), actors_.table(), settings_.options.memory_threshold,
          [this](ProcessId worker, const std::string& line) { logs_.note(worker, line); },
          [this](bool scarce) { leases_.memory_is_scarce(scarce); }),
      queues_(loop, lasting_folder() + "/queues", lasts()),
      programs_(loop, *settings_.spawner, os::own_program()),
      dashboard_({loop, roster_, processes_, [this] { return status_sources(); }, programs_, folder_.socket_path(),
                  fmt::format("{:08x}", epoch_)}) {
  loop_.set_round_hook([this](bool complete) { end_round(complete); });
}

// Whether this is the started node of its home, whose jobs and queues the next node takes over.
bool Node::lasts() const { return !settings_.embedded && folder_.path() == os::started_node_folder(); }

std::string Node::lasting_folder() const { return lasts() ? os::home_path() : folder_.path(); }

JobCarrier::Settings Node::job_settings() const {
  JobCarrier::Settings settings;
  settings.embedded = !lasts();
  settings.folder = lasting_folder() + "/jobs";
  settings.node_address = folder_.socket_path();
  settings.total = settings_.options.total;
  settings.gpus = settings_.options.gpus;
  settings.rules = settings_.job_rules;
  return settings;
}

// The root of what a driver creates: the driver itself; in a job the program that the embedded node was started for,
// or, in a started node, the outermost job.
ProcessId Node::root_of_driver(ProcessId driver) const {
  const Connection* connection = roster_.find(driver);
  if (connection == nullptr || connection->job == 0) return driver;
  if (first_ != nullptr && first_->process != 0) return first_->process;
  return jobs_.top_home(connection->job);
}

ProcessId Node::tree_of_worker(pid_t pid) const {
  for (const auto& [process, worker] : processes_.workers()) {
    if (worker.pid == pid) return leases_.table().ledger().tree(process);
  }
  return 0;
}

std::size_t Node::drivers_outside_jobs() const {
  const std::vector<Connection*> drivers = roster_.drivers();
  return static_cast<std::size_t>(
      std::count_if(drivers.begin(), drivers.end(), [](const Connection* driver) { return driver->job == 0; }));
}

Node::~Node() { loop_.set_round_hook({}); }

Status Node::adopt(os::Fd socket) {
  first_ = roster_.adopt(std::move(socket));
  if (first_ != nullptr) return Status::ok();
  return Status(StatusCode::kUnavailable, "the client is gone, or belongs to another user");
}

void Node::end_round(bool complete) {
  if (objects_.end_round(complete)) loop_.request_round();
  carry_out();
  waits_.carry_out();
  watch_.follow_leases();
  roster_.end_round();
  logs_.resume();
}

// The carriers depend on each other (a granted lease starts an actor, a dead actor ends its lease, an ended job frees
// resources), so they take turns until none has a command left.
void Node::carry_out() {
  do {
    leases_.carry_out();
  } while (actors_.carry_out() || jobs_.carry_out());
}

Status Node::frame_arrived(Connection& connection, wire::Incoming& frame) {
  auto type = static_cast<ControlType>(frame.header.type);
  if (!connection.greeted) {
    return type == ControlType::kHello ? handle_hello(connection, frame.body) : forbidden(connection, type);
  }
  if (type == ControlType::kStatusRequest) {
    connection.send(ControlType::kStatusReply, frame.header.id, wire::Text{StatusCode::kOk, report()});
    return Status::ok();
  }
  if (type == ControlType::kShutdown && connection.role != wire::Role::kWorker) {
    loop_.stop();
    return Status::ok();
  }
  if (type >= ControlType::kSubmitJob && type <= ControlType::kReadJobLog) {
    return job_requests_.handle(connection, type, frame);
  }
  if (connection.role == wire::Role::kObserver) return forbidden(connection, type);
  return handle_client(connection, type, frame);
}

Status Node::handle_hello(Connection& connection, std::string_view body) {
  FRAY_ASSIGN_OR_RETURN(wire::Hello hello, wire::decode<wire::Hello>(body));
  connection.pid = connection.peer_pid() != 0 ? connection.peer_pid() : hello.pid;
  if (hello.release != settings_.release) {
    roster_.refuse(
        connection, StatusCode::kVersionMismatch,
        fmt::format("client {}, node {}: both must come from the same Fray release", hello.release, settings_.release));
    return Status::ok();
  }
  connection.role = hello.role;
  switch (hello.role) {
    case wire::Role::kWorker:
      return welcome_worker(connection, hello);
    case wire::Role::kObserver:
      connection.greeted = true;
      break;
    case wire::Role::kDriver: {
      ProcessId process = roster_.new_process();
      roster_.enter(connection, process);
      connection.job = jobs_.home_of_process(connection.pid);
      leases_.client_joined(process, connection.job);
      objects_.process_joined(process);
      actors_.client_joined(process);
      break;
    }
    default:
      return Status(StatusCode::kCorruption, "a hello names no known role");
  }
  welcome(connection, connection.process);
  if (connection.role == wire::Role::kDriver) dashboard_.driver_joined(connection);
  return Status::ok();
}

Status Node::welcome_worker(Connection& connection, const wire::Hello& hello) {
  // Only a process that was requested from a fork server and has not said hello yet may use this number.
  auto known = processes_.workers().find(hello.process);
  if (known == processes_.workers().end() || roster_.find(hello.process) != nullptr) {
    return Status(StatusCode::kInvalidArgument, "a worker that nobody started said hello");
  }
  connection.pid = hello.pid;
  roster_.enter(connection, hello.process);
  objects_.process_joined(hello.process);
  processes_.said_hello(hello.process, hello.pid);
  leases_.worker_ready(hello.process);
  actors_.client_joined(hello.process);
  welcome(connection, hello.process);
  return Status::ok();
}

void Node::welcome(Connection& connection, ProcessId process) {
  wire::Welcome message;
  message.session = {.epoch = epoch_,
                     .process = process,
                     .max_workers = settings_.options.max_workers,
                     .store_limit_bytes = settings_.options.store_memory_bytes,
                     .release = settings_.release,
                     .folder = folder_.path(),
                     .in_job = connection.job != 0};
  message.total = settings_.options.total;
  connection.send(ControlType::kWelcome, 0, message);
}

Status Node::handle_client(Connection& connection, ControlType type, wire::Incoming& frame) {
  const ProcessId process = connection.process;
  switch (type) {
    case ControlType::kDefineKey:
    case ControlType::kForgetKey:
    case ControlType::kDemand:
    case ControlType::kReturnLease:
    case ControlType::kKillLease:
    case ControlType::kLeaseBroken:
      return handle_lease(process, type, frame);
    case ControlType::kRegister:
    case ControlType::kHold:
    case ControlType::kRelease:
    case ControlType::kWant:
    case ControlType::kCancelObject:
    case ControlType::kComplete:
      return handle_object(process, type, frame);
    case ControlType::kBlocked:
    case ControlType::kUnblocked:
    case ControlType::kRetiring:
      return handle_worker(connection, type);
    case ControlType::kRunsTold: {
      FRAY_ASSIGN_OR_RETURN(wire::RunsTold message, wire::decode<wire::RunsTold>(frame.body));
      dashboard_.told(process, message);
      return Status::ok();
    }
    case ControlType::kSetAside: {
      FRAY_ASSIGN_OR_RETURN(wire::SetAside message, wire::decode<wire::SetAside>(frame.body));
      return reservations_.begin(process, std::move(message));
    }
    case ControlType::kPutBack: {
      FRAY_ASSIGN_OR_RETURN(wire::PutBack message, wire::decode<wire::PutBack>(frame.body));
      reservations_.end(message.name);
      return Status::ok();
    }
    case ControlType::kCallWaits:
    case ControlType::kCallWaitEnded:
      return handle_wait(connection, type, frame);
    case ControlType::kCreateActor:
    case ControlType::kConstructActor:
    case ControlType::kConnectActor:
    case ControlType::kKillActor:
    case ControlType::kFindActor:
    case ControlType::kListActors:
    case ControlType::kActorReady:
    case ControlType::kActorFailed:
      return handle_actor(connection, type, frame);
    default:
      return handle_memory(connection, type, frame);
  }
}

Status Node::handle_lease(ProcessId process, ControlType type, const wire::Incoming& frame) {
  switch (type) {
    case ControlType::kDefineKey: {
      FRAY_ASSIGN_OR_RETURN(wire::DefineKey message, wire::decode<wire::DefineKey>(frame.body));
      return leases_.define_key(process, message);
    }
    case ControlType::kForgetKey:
      leases_.forget_key(process, static_cast<std::uint32_t>(frame.header.id));
      return Status::ok();
    case ControlType::kDemand: {
      FRAY_ASSIGN_OR_RETURN(wire::Demand message, wire::decode<wire::Demand>(frame.body));
      return leases_.demand(process, message);
    }
    case ControlType::kReturnLease:
      leases_.return_lease(process, frame.header.id);
      return Status::ok();
    case ControlType::kKillLease:
      leases_.kill_lease(process, frame.header.id);
      return Status::ok();
    default:
      leases_.lease_broken(process, frame.header.id);
      return Status::ok();
  }
}

Status Node::handle_object(ProcessId process, ControlType type, const wire::Incoming& frame) {
  if (type == ControlType::kComplete) {
    FRAY_ASSIGN_OR_RETURN(wire::Complete message, wire::decode<wire::Complete>(frame.body));
    return objects_.complete(std::move(message));
  }
  if (type == ControlType::kCancelObject) {
    FRAY_ASSIGN_OR_RETURN(wire::CancelObject message, wire::decode<wire::CancelObject>(frame.body));
    objects_.cancel(message);
    return Status::ok();
  }
  FRAY_ASSIGN_OR_RETURN(wire::ObjectIds message, wire::decode<wire::ObjectIds>(frame.body));
  return objects_.records(process, type, message);
}

Status Node::handle_worker(Connection& connection, ControlType type) {
  if (connection.role == wire::Role::kDriver && connection.job != 0 && type != ControlType::kRetiring) {
    job_process_waits(connection, type == ControlType::kBlocked);
    return Status::ok();
  }
  if (connection.role != wire::Role::kWorker) return forbidden(connection, type);
  if (type == ControlType::kBlocked) leases_.blocked(connection.process);
  if (type == ControlType::kUnblocked) leases_.unblocked(connection.process);
  if (type == ControlType::kRetiring) leases_.retiring(connection.process);
  return Status::ok();
}

Status Node::handle_wait(Connection& connection, ControlType type, const wire::Incoming& frame) {
  if (connection.role != wire::Role::kWorker) return forbidden(connection, type);
  if (type == ControlType::kCallWaitEnded) {
    waits_.ended(connection.process, frame.header.id);
    return Status::ok();
  }
  FRAY_ASSIGN_OR_RETURN(wire::CallWaits message, wire::decode<wire::CallWaits>(frame.body));
  waits_.waits(connection.process, frame.header.id, std::move(message));
  return Status::ok();
}

void Node::job_process_waits(Connection& connection, bool waits) {
  if (std::exchange(connection.waits, waits) != waits) leases_.jobs().waits(connection.job, waits);
}

Status Node::handle_actor(Connection& connection, ControlType type, wire::Incoming& frame) {
  const ProcessId process = connection.process;
  switch (type) {
    case ControlType::kCreateActor: {
      FRAY_ASSIGN_OR_RETURN(wire::CreateActor message, wire::decode<wire::CreateActor>(frame.body));
      return actors_.create(connection, frame.header.id, std::move(message));
    }
    case ControlType::kConstructActor: {
      FRAY_ASSIGN_OR_RETURN(wire::ConstructActor message, wire::decode<wire::ConstructActor>(frame.body));
      return actors_.construct(process, std::move(message));
    }
    case ControlType::kConnectActor: {
      FRAY_ASSIGN_OR_RETURN(wire::ActorName message, wire::decode<wire::ActorName>(frame.body));
      actors_.connect(process, message.actor);
      return Status::ok();
    }
    case ControlType::kKillActor: {
      FRAY_ASSIGN_OR_RETURN(wire::ActorName message, wire::decode<wire::ActorName>(frame.body));
      actors_.kill(connection, frame.header.id, message);
      return Status::ok();
    }
    case ControlType::kFindActor: {
      FRAY_ASSIGN_OR_RETURN(wire::FindActor message, wire::decode<wire::FindActor>(frame.body));
      actors_.find(connection, frame.header.id, message);
      return Status::ok();
    }
    case ControlType::kListActors:
      actors_.list(connection, frame.header.id);
      return Status::ok();
    case ControlType::kActorReady:
      return actors_.constructed(process);
    default: {
      FRAY_ASSIGN_OR_RETURN(wire::ActorFailure message, wire::decode<wire::ActorFailure>(frame.body));
      return actors_.constructor_raised(process, std::move(message));
    }
  }
}

Status Node::handle_memory(Connection& connection, ControlType type, wire::Incoming& frame) {
  const ProcessId process = connection.process;
  switch (type) {
    case ControlType::kAnnounceSegment: {
      FRAY_ASSIGN_OR_RETURN(wire::SegmentInfo message, wire::decode<wire::SegmentInfo>(frame.body));
      return memory_.announce(process, message, std::move(frame.fds));
    }
    case ControlType::kOpenSegment: {
      FRAY_ASSIGN_OR_RETURN(wire::SegmentName message, wire::decode<wire::SegmentName>(frame.body));
      memory_.open(connection, frame.header.id, message.segment);
      return Status::ok();
    }
    case ControlType::kForgetSegment: {
      FRAY_ASSIGN_OR_RETURN(wire::SegmentName message, wire::decode<wire::SegmentName>(frame.body));
      return memory_.forget_segment(process, message.segment);
    }
    case ControlType::kMemoryYielded:
      memory_.yielded(connection.process);
      return Status::ok();
    case ControlType::kHoldOutput:
    case ControlType::kTakeOutput:
      connection.holds_output = type == ControlType::kHoldOutput;
      return Status::ok();
    case ControlType::kEvicted: {
      FRAY_ASSIGN_OR_RETURN(wire::SegmentName message, wire::decode<wire::SegmentName>(frame.body));
      memory_.evicted(process, message);
      return Status::ok();
    }
    case ControlType::kReserve: {
      FRAY_ASSIGN_OR_RETURN(wire::Reserve message, wire::decode<wire::Reserve>(frame.body));
      memory_.reserve(process, frame.header.id, message.bytes);
      return Status::ok();
    }
    case ControlType::kUnreserve: {
      FRAY_ASSIGN_OR_RETURN(wire::Reserve message, wire::decode<wire::Reserve>(frame.body));
      memory_.unreserve(process, message.bytes);
      return Status::ok();
    }
    default:
      return forbidden(connection, type);
  }
}

void Node::connection_ended(Connection& connection, const Status& why) {
  const bool is_first = std::exchange(first_, first_ == &connection ? nullptr : first_) == &connection;
  if (connection.process != 0) process_left(connection, why);
  job_process_waits(connection, false);
  job_requests_.connection_ended(connection);
  const bool mattered = is_first || connection.role == wire::Role::kDriver;
  if (!settings_.embedded || !mattered || drivers_outside_jobs() > 0) return;
  if (!last_.is_open()) last_ = connection.copy_of_socket();
  loop_.stop();
}

void Node::process_left(Connection& connection, const Status& why) {
  const ProcessId process = connection.process;
  actors_.client_left(process);  // first: it asks whose child the process was
  reservations_.client_left(process);
  leases_.client_left(process);
  objects_.process_left(process, connection.role == wire::Role::kDriver);
  waits_.process_left(process);
  memory_.process_left(process);
  dashboard_.client_left(process);
  if (connection.role == wire::Role::kWorker) {
    // The process may be ending, and its own exit status says more than that of a kill. A process that only closed its
    // socket cannot be reached any more.
    auto worker = processes_.workers().find(process);
    if (worker == processes_.workers().end()) return;
    if (worker->second.expected) return processes_.will_end(process);
    return processes_.kill(process, false);
  }
  if (why.code() != StatusCode::kUnavailable) {
    log_event(LogLevel::kWarning, "fray node: the connection of process {} was closed: {}", connection.pid,
              why.message());
  }
}

void Node::worker_gone(ProcessId worker, WorkerEnd end, const wire::ExitFacts& facts, const WorkerPage& page) {
  if (Connection* connection = roster_.find(worker)) {
    connection->drain();  // messages that were sent before the end count
    connection->end(Status(StatusCode::kUnavailable, "the worker has ended"));
  }
  wire::ExitFacts known = facts;
  known.out_of_memory = watch_.memory_verdict(worker, end == WorkerEnd::kExpected, facts);
  leases_.worker_gone(worker, end, known);
  actors_.worker_gone(worker, known, page);
}

std::vector<Connection*> Node::log_audience(ProcessId worker) const {
  Connection* root = roster_.find(leases_.root_of(worker));
  if (root != nullptr) return {root};
  return roster_.drivers();
}

void Node::reap_children() {
  bool someone = false;
  while (auto ended = os::reap_one()) {
    someone = true;
    processes_.child_ended(*ended);
    programs_.child_ended(*ended);
  }
  if (!someone) return;
  // Orphans of a dead fork server become children of the node. The kernel kills its workers, whose ends are reported
  // when they are reaped.
  for (pid_t child : os::children_of_this_process()) {
    if (!is_ours(child)) os::kill_tree(child);
  }
}

bool Node::is_ours(pid_t child) const {
  return processes_.is_fork_server(child) || jobs_.is_supervisor(child) || environments_.is_preparer(child) ||
         programs_.is_one(child);
}

void Node::stop_all_jobs() { jobs_.stop_all(); }

Status Node::kill_everything() { return os::kill_all_descendants(kKillLimit); }

std::string Node::report() {
  watch_.look_for_stops();
  return status_report(status_sources());
}

StatusSources Node::status_sources() const {
  return {settings_.release,
          folder_.path(),
          started_ns_,
          settings_.options.total,
          settings_.options.max_workers,
          roster_,
          processes_,
          leases_,
          reservations_,
          objects_,
          actors_,
          jobs_,
          memory_,
          watch_};
}

}  // namespace fray::node
