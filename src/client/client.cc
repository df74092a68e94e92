#include "client/client.h"

#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "client/call.h"
#include "client/current_call.h"
#include "client/task_queue.h"
#include "door/greeting.h"
#include "model/resource_text.h"
#include "wire/lease.h"
#include "wire/welcome.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {
thread_local std::uint32_t current_depth = 0;
}  // namespace

thread_local RunningCall current_call;

void Client::set_depth(std::uint32_t depth) { current_depth = depth; }
std::uint32_t Client::depth() { return current_depth; }

void Client::set_call(const RunningCall& call) { current_call = call; }

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      link_(std::move(options_.control)),
      memory_(memory_of_the_node()),
      objects_(link_, memory_),
      tasks_(link_, objects_, timeline_, [this](Object* object) FRAY_REQUIRES(mutex_) { became_ready(object); }),
      actors_(link_, objects_, tasks_),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      leader_wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Client::~Client() { close(); }

// ---- Connection ----

Result<std::unique_ptr<Client>> Client::connect(ClientOptions options) {
  std::unique_ptr<Client> client(new Client(std::move(options)));
  FRAY_RETURN_IF_ERROR(client->handshake());
  client->start_backup();
  return client;
}

Status Client::handshake() {
  link_.send_frame(door::hello_frame(options_.role, options_.process));
  if (options_.role == wire::Role::kDriver) {
    wire::DefineKey key;
    key.key = 0;
    key.prestart = options_.prestart;
    key.description = options_.key;
    link_.send(wire::ControlType::kDefineKey, 0, key);
    keys_.hold_own(options_.key);
  }
  if (!options_.hello.deadline) options_.hello.deadline = Clock::now() + door::kHelloPatience;
  FRAY_ASSIGN_OR_RETURN(std::string answer, door::await_welcome(link_.socket(), options_.hello));
  FRAY_ASSIGN_OR_RETURN(wire::Welcome welcome, wire::decode<wire::Welcome>(answer));
  session_ = std::move(welcome.session);
  total_ = std::make_unique<const ResourceSet>(std::move(welcome.total));
  objects_.set_identity(session_.epoch, session_.process);
  memory_.set_process(session_.process);
  // A worker waits for its subtasks most of the time: what it does not use, others do.
  auto keep_idle = options_.role == wire::Role::kWorker ? Clock::duration(1ms) : Clock::duration(1s);
  tasks_.set_limits(
      {total_->amount("CPU"), session_.max_workers, keep_idle, wire::most_body_bytes(session_.store_limit_bytes)});
  open_.store(true, std::memory_order_release);
  return Status::ok();
}

Status Client::why_closed() const {
  MutexLock lock(mutex_);
  return closed_;
}

void Client::end(Status why) {
  if (!open_.exchange(false)) return;
  closed_ = std::move(why);
  link_.close();
  questions_.end();
  tasks_.fail_all(closed_.code(), closed_.message());
  std::string bytes(1, static_cast<char>(closed_.code()));
  bytes += closed_.message();
  for (Object* object : objects_.foreign_pending()) {
    object->encoding = wire::Encoding::kStatus;
    object->bytes = bytes;
    object->state.store(Object::State::kReady, std::memory_order_release);
    became_ready(object);
  }
  ++progress_;
  settle();
  readers_changed_.notify_all();
  if (duty_ != nullptr) duty_->node_gone();
}

void Client::close() {
  if (stopping_.exchange(true)) return;
  {
    MutexLock lock(mutex_);
    if (open_) {
      tasks_.tick(Clock::now(), true);
      link_.flush();
    }
    end({StatusCode::kClosed, "the context was closed"});
    wake_sleepers();
  }
  if (backup_.joinable()) backup_.join();
}

void Client::abandon_after_fork() {
  abandoned_ = true;
  set_depth(0);
  set_call({});
  open_.store(false);
  stopping_.store(true);
  // The parent's connections must not look alive through this process.
  link_.close();
  tasks_.close_sockets();
  if (duty_ != nullptr) duty_->abandon();
  // fork() did not copy that thread: whatever would be done to it here (join, detach) touches what no longer exists.
  [[maybe_unused]] static std::thread* left_behind;  // still reachable, for those who look for leaks
  if (backup_.joinable()) left_behind = new std::thread(std::move(backup_));
}

void Client::set_duty(WorkerDuty* duty) {
  MutexLock lock(mutex_);
  duty_left_.wait(lock, [this]() FRAY_REQUIRES(mutex_) { return !duty_busy_; });
  duty_ = duty;
  deliver_leases();
  wake_sleepers();
}

void Client::deliver_leases() {
  if (duty_ == nullptr) return;
  if (early_devices_) duty_->devices_bound(*std::exchange(early_devices_, std::nullopt));
  for (EarlyLease& early : early_leases_) {
    duty_->lease_arrived(early.lease, early.client, early.cpus, std::move(early.fd));
  }
  early_leases_.clear();
  if (early_actor_) duty_->actor_arrived(std::move(*early_actor_));
  early_actor_.reset();
}

// ---- Tasks ----

std::uint32_t Client::define_key(const wire::WorkerKey& key) {
  MutexLock lock(mutex_);
  const auto [number, is_new] = keys_.hold(key);
  if (!is_new) return number;
  wire::DefineKey message;
  message.key = number;
  message.description = key;
  link_.send(wire::ControlType::kDefineKey, 0, message);
  return number;
}

void Client::hold_key(std::uint32_t number) {
  MutexLock lock(mutex_);
  keys_.hold_again(number);
}

void Client::forget_key(std::uint32_t number) {
  if (abandoned_) return;
  MutexLock lock(mutex_);
  if (open_ && keys_.release(number)) tasks_.retire_key(number);
}

Status Client::why_refused(const Task& task, const ResourceSet* resources, std::string_view kind) const {
  if (!open_) return closed_;
  if (resources != nullptr && !total_->covers(*resources)) {
    return Status(
        StatusCode::kInvalidArgument,
        fmt::format("{} {} asks for {}; this node has {} and can never run it. Ask for less, or declare more "
                    "with fray.init(cpus=..., resources=...)",
                    kind, task.function->name, text_beside(*resources, *total_), text_beside(*total_, *resources)));
  }
  return tasks_.check_size(task);
}

void Client::release_arguments(Task& task) {
  if (!task.extra) return;
  for (ArgumentPart& part : task.extra->parts) release(part.object);
  for (Object* held : task.extra->held) release(held);
  task.extra.reset();
}

Result<std::vector<Object*>> Client::submit(std::unique_ptr<Task> given, const TaskOptions& options) {
  Unaccepted unaccepted{*this, given};
  MutexLock lock(mutex_);
  TaskQueue* queue = tasks_.known_queue(options.shape, current_depth);
  const ResourceSet* unknown = queue == nullptr ? &options.shape.resources : nullptr;
  FRAY_RETURN_IF_ERROR(why_refused(*given, unknown, "task"));
  Task* task = given.release();
  std::vector<Object*> results = make_results(task, options);
  task->queue = queue != nullptr ? queue : tasks_.queue(options.shape, current_depth);
  tasks_.submit(task);
  settle();
  wake_stale_sleepers();
  return results;
}

Result<std::vector<Object*>> Client::submit(Call call) { return submit(std::move(call.task), call.options); }

// Numbers the task and gives it its result objects, with a count for the caller and one for the task each.
std::vector<Object*> Client::make_results(Task* task, const TaskOptions& options) {
  std::uint32_t count = std::max<std::uint32_t>(1, options.returns);
  std::uint64_t sequence = objects_.take_sequence(count);
  std::vector<Object*> results;
  results.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto* result = new Object;
    result->id = objects_.own_id(sequence + i);
    result->producer = task;
    result->references.store(2, std::memory_order_relaxed);
    results.push_back(result);
  }
  task->first_result = results.front();
  task->returns = static_cast<std::uint16_t>(count);
  task->retries_left = options.max_retries;
  task->generator = options.generator;
  if (count > 1) {
    if (!task->extra) task->extra = std::make_unique<Task::Extra>();
    task->extra->more_results.assign(results.begin() + 1, results.end());
  }
  if (task->generator) {
    results.front()->details().stream = std::make_unique<ItemStream>();
    results.front()->stream = true;
  }
  // The first stretch of bytes holds the frame's header and the task's head.
  std::string& begin = task->extra && !task->extra->parts.empty() ? task->extra->parts.front().before : task->frame;
  std::memcpy(begin.data() + offsetof(wire::FrameHeader, id), &sequence, sizeof(sequence));
  auto* head = reinterpret_cast<wire::TaskHead*>(begin.data() + kHeadOffset);
  head->depth = current_depth;
  return results;
}

bool Client::cancel(Object* object, bool force) {
  MutexLock lock(mutex_);
  bool cancelled = tasks_.cancel(object, force);
  settle();
  return cancelled;
}

bool Client::is_waiting(Object* object, bool cancel) {
  MutexLock lock(mutex_);
  Task* task = object->producer;
  bool waiting = task != nullptr && task->state != Task::State::kSent;
  if (waiting && cancel) {
    tasks_.cancel(object, false);
    settle();
  }
  return waiting;
}

// ---- Objects ----

Object* Client::put_inline(wire::Encoding encoding, std::string bytes, std::vector<Object*> nested) {
  auto* object = new Object;
  object->encoding = encoding;
  object->bytes = std::move(bytes);
  if (!nested.empty()) object->details().nested = std::move(nested);
  {
    MutexLock lock(mutex_);
    object->id = objects_.own_id(objects_.take_sequence(1));
  }
  object->state.store(Object::State::kReady, std::memory_order_release);
  return object;
}

std::vector<Object*> Client::nested(Object* object) {
  if (!object->detail) return {};
  MutexLock lock(mutex_);
  return objects_.nested(object);
}

std::vector<Object*> Client::adopt(std::span<const ObjectId> ids) {
  std::vector<Object*> refs;
  if (ids.empty()) return refs;
  MutexLock lock(mutex_);
  refs.reserve(ids.size());
  for (const ObjectId& id : ids) refs.push_back(objects_.adopt(id));
  return refs;
}

Object* Client::adopt_sealed(const wire::ValueView& value) {
  MutexLock lock(mutex_);
  Object* object = objects_.adopt(value.object);
  if (object->is_ready()) return object;
  object->encoding = value.encoding;
  object->sealed = true;
  object->details().location = value.location;
  for (std::uint32_t i = 0; i < value.nested_count; ++i) object->details().nested_ids.push_back(value.nested(i));
  object->state.store(Object::State::kReady, std::memory_order_release);
  became_ready(object);
  settle();
  return object;
}

void Client::release(Object* object) {
  if (!object->linked.load(std::memory_order_relaxed)) {
    // Private to this process and with nothing to hand on: whoever drops the last count deletes it.
    if (object->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (!object->linked.load(std::memory_order_relaxed)) {
      delete object;
      return;
    }
    object->references.fetch_add(1, std::memory_order_relaxed);  // linked by another thread just before: as below
  }
  if (!object->stream) {  // one of several counts: nothing follows from it
    std::uint32_t count = object->references.load(std::memory_order_relaxed);
    while (count > 1) {
      if (object->references.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel)) return;
    }
  }
  if (abandoned_) return;
  MutexLock lock(mutex_);
  std::uint32_t before = object->references.fetch_sub(1, std::memory_order_acq_rel);
  if (before == 1) return objects_.destroy(object);
  if (before == 2 && object->stream && object->producer != nullptr) {
    // Only the task itself is left: nobody will take its items.
    tasks_.cancel(object, false);
    settle();
  }
}

// ---- The worker's side ----

ObjectId Client::new_object_id() {
  MutexLock lock(mutex_);
  return objects_.own_id(objects_.take_sequence(1));
}

void Client::share(std::span<Object* const> objects) {
  MutexLock lock(mutex_);
  for (Object* object : objects) objects_.share(object);
}

void Client::record_result(ObjectId id, ProcessId holder, wire::Value& value, Object* made) {
  MutexLock lock(mutex_);
  wire::Complete message;
  message.object = id;
  message.holder = holder;
  Status published = Status::ok();
  if (made != nullptr) {
    if (made->own_block) published = memory_.publish(made->detail->location.segment, link_);
    objects_.no_longer_private(made);
    made->own_block = false;  // the node frees it
    value.object = id;
  }
  message.value = value;
  link_.send(wire::ControlType::kComplete, 0, message);
}

void Client::say(wire::ControlType type) {
  MutexLock lock(mutex_);
  link_.send(type);
  link_.flush();
}

void Client::flush_link() {
  MutexLock lock(mutex_);
  link_.flush();
}

void Client::task_ended() {
  MutexLock lock(mutex_);
  if (!tasks_.leases().empty()) tasks_.tick(Clock::now(), true);
  ++tasks_begun_;
  side_waits_.lasting = 0;
  link_.flush();
  // The answer must not overtake the records, so this waits for the node to take them.
  while (link_.is_open() && link_.has_output()) {
    pollfd set{link_.fd(), POLLOUT, 0};
    lock.unlock();
    ::poll(&set, 1, 100);
    lock.lock();
    link_.flush();
  }
}

bool Client::has_unfinished_work() const {
  MutexLock lock(mutex_);
  return tasks_.unfinished() > 0;
}

Timeline::Runs Client::timeline() const {
  MutexLock lock(mutex_);
  return timeline_.runs();
}

std::vector<Timeline::Failure> Client::failures() const {
  MutexLock lock(mutex_);
  return timeline_.failures();
}

}  // namespace fray::client
