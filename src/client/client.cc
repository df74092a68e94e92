#include "client/client.h"

#include <utility>

#include <poll.h>

#include "door/greeting.h"
#include "model/resource_set.h"
#include "os/process/start_thread.h"
#include "wire/lease.h"
#include "wire/object.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {
constexpr auto kStatusLimit = 5s;
constexpr auto kNodeEndPatience = 5s;  // the node kills what runs for at most three
}  // namespace

thread_local RunningCall current_call;

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      kernel_(mutex_, reading_),
      connection_(mutex_, kernel_, std::move(options_.control)),
      node_memory_(mutex_, connection_),
      object_table_(connection_.link(), node_memory_.memory()),
      ledger_(connection_.link(), object_table_, timeline_,
              [this](Object* object) FRAY_REQUIRES(client_mutex) { reading_.became_ready(object); }),
      task_table_(connection_.link(), ledger_),
      actor_table_(connection_.link(), object_table_, ledger_),
      seat_(mutex_),
      side_waits_(connection_, kernel_, seat_),
      call_waits_(mutex_, connection_, kernel_, object_table_, seat_, side_waits_),
      output_(mutex_, connection_, options_.output, options_.fold_output),
      reading_({connection_, kernel_, node_memory_, object_table_, ledger_, task_table_, actor_table_, seat_,
                side_waits_, call_waits_, output_, timeline_}),
      refs_(mutex_, connection_, kernel_, object_table_, ledger_, reading_),
      large_values_(mutex_, connection_, node_memory_, object_table_),
      waits_(mutex_, connection_, kernel_, object_table_, ledger_, seat_, side_waits_, call_waits_),
      submission_(mutex_, connection_, kernel_, object_table_, ledger_, task_table_, reading_, refs_),
      actor_calls_(mutex_, connection_, kernel_, object_table_, actor_table_, seat_, reading_, refs_, submission_) {}

Client::~Client() { close(); }

// ---- Connection ----

Result<std::unique_ptr<Client>> Client::connect(ClientOptions options) {
  std::unique_ptr<Client> client = greet(std::move(options));
  FRAY_RETURN_IF_ERROR(client->join());
  return client;
}

std::unique_ptr<Client> Client::greet(ClientOptions options) {
  std::unique_ptr<Client> client(new Client(std::move(options)));
  client->say_hello();
  return client;
}

Status Client::join() {
  FRAY_RETURN_IF_ERROR(hear_node());
  return start_backup();
}

// hear_node() sends what cannot be sent now, and handles errors.
void Client::say_hello() {
  NodeLink& link = connection_.link();
  link.send_frame(door::hello_frame(options_.role, options_.process));
  if (options_.role == wire::Role::kDriver) {
    wire::DefineKey key;
    key.key = 0;
    key.prestart = options_.prestart;
    key.description = options_.key;
    link.send(wire::ControlType::kDefineKey, 0, key);
    submission_.hold_own_key(options_.key);
  }
  [[maybe_unused]] const Status sent = link.socket().flush();
}

Status Client::hear_node() {
  if (!options_.hello.deadline) options_.hello.deadline = Clock::now() + door::kHelloPatience;
  FRAY_RETURN_IF_ERROR(connection_.await_welcome(options_.hello));
  const wire::Session& session = connection_.session();
  object_table_.set_identity(session.epoch, session.process);
  node_memory_.memory().set_process(session.process);
  // A worker mostly waits for its subtasks, so it gives idle leases back sooner, for other clients.
  auto keep_idle = options_.role == wire::Role::kWorker ? Clock::duration(1ms) : Clock::duration(1s);
  task_table_.set_limits({connection_.total().amount("CPU"), session.max_workers, keep_idle});
  ledger_.set_most_body_bytes(wire::most_body_bytes(session.store_limit_bytes));
  return Status::ok();
}

Status Client::start_backup() {
  FRAY_ASSIGN_OR_RETURN(backup_, os::start_thread([this] { kernel_.run_backup(); }));
  return Status::ok();
}

void Client::close() {
  if (!kernel_.stop()) return;
  os::Fd node;
  {
    ClientLock lock(mutex_);
    if (connection_.is_open()) {
      task_table_.tick(Clock::now(), true);
      reading_.tell_last_runs();
      connection_.link().flush();
      if (options_.started_node) node = os::another_descriptor(connection_.link().fd());
    }
    reading_.end({StatusCode::kClosed, "the context was closed"});
    kernel_.wake_all();
  }
  if (backup_.joinable()) backup_.join();
  if (node.is_open()) door::take_leave(node, door::Patience::of(kNodeEndPatience));
  output_.end();
}

void Client::tell_last_runs() {
  ClientLock lock(mutex_);
  if (!connection_.is_open()) return;
  reading_.tell_last_runs();
  connection_.link().flush();
}

void Client::abandon_after_fork() {
  Submission::set_depth(0);
  set_call({});
  connection_.abandon();
  kernel_.abandon();
  ledger_.close_sockets();
  seat_.abandon();
  // fork() did not copy that thread: join() and detach() would access a thread that does not exist.
  [[maybe_unused]] static std::thread* left_behind;  // still reachable, so that leak checkers are quiet
  if (backup_.joinable()) left_behind = new std::thread(std::move(backup_));
}

// ---- The worker's side ----

void Client::set_duty(WorkerDuty* duty) {
  ClientLock lock(mutex_);
  seat_.set_duty(duty, lock);
  kernel_.wake_all();
}

SideWaits::Count Client::side_waits() const {
  ClientLock lock(mutex_);
  return side_waits_.count();
}

void Client::record_result(ObjectId id, ProcessId holder, wire::Value& value, Object* made) {
  ClientLock lock(mutex_);
  wire::Complete message;
  message.object = id;
  message.holder = holder;
  Status published = Status::ok();
  if (made != nullptr) {
    if (made->own_block) published = node_memory_.memory().publish(made->detail->location.segment, connection_.link());
    object_table_.no_longer_private(made);
    made->own_block = false;  // the node frees the block
    value.object = id;
  }
  message.value = value;
  connection_.link().send(wire::ControlType::kComplete, 0, message);
}

std::uint64_t Client::task_ended() {
  ClientLock lock(mutex_);
  if (!ledger_.leases().empty()) task_table_.tick(Clock::now(), true);
  side_waits_.task_ended();
  connection_.link().flush();
  // The answer must not overtake the records, so wait until the socket to the node has taken them.
  while (connection_.link().is_open() && connection_.link().has_output()) {
    pollfd set{connection_.link().fd(), POLLOUT, 0};
    lock.unlock();
    ::poll(&set, 1, 100);
    lock.lock();
    connection_.link().flush();
  }
  return object_table_.next_sequence();
}

// ---- Other requests ----

Result<std::string> Client::status(WaitHooks& hooks) {
  return connection_.ask_for_status(Clock::now() + kStatusLimit, hooks);
}

bool Client::has_unfinished_work() const {
  ClientLock lock(mutex_);
  return ledger_.unfinished() > 0;
}

Timeline::Runs Client::timeline() const {
  ClientLock lock(mutex_);
  return timeline_.runs();
}

std::vector<Timeline::Failure> Client::failures() const {
  ClientLock lock(mutex_);
  return timeline_.failures();
}

}  // namespace fray::client
