#include "client/tasks/actor_table.h"

#include <algorithm>
#include <utility>

namespace fray::client {

namespace {

constexpr std::size_t kMostSent = 8192;  // calls in flight; further calls wait here, where they can be cancelled

}  // namespace

ActorTable::ActorTable(NodeLink& link, ObjectTable& objects, TaskLedger& ledger)
    : link_(link), objects_(objects), ledger_(ledger) {
  objects_.on_actor_dropped([this](ActorQueue* queue) { dropped(queue); });
}

ActorQueue* ActorTable::queue(Object* object) {
  ActorQueue*& known = object->details().actor;
  if (known == nullptr) {
    auto made = std::make_unique<ActorQueue>();
    made->sender = this;
    made->object = object;
    known = made.get();
    queues_[object->id] = std::move(made);
  }
  return known;
}

void ActorTable::dropped(ActorQueue* queue) {
  if (queue->connection) ledger_.forget(queue->connection.get());
  queues_.erase(queue->object->id);
}

// ---- Calls ----

void ActorTable::call(ActorQueue* queue, Task* task) {
  task->actor = queue;
  if (queue->unfinished++ == 0) retain(queue->object);
  if (queue->state == ActorQueue::State::kIdle) ask(queue);
  queue->ready.push_back(task);
  ledger_.submit(task);
  if (queue->state == ActorQueue::State::kDead) advance(queue);
}

void ActorTable::construct(ActorQueue* queue, Task* task, std::string settings) {
  task->actor = queue;
  task->constructs = true;
  settings_[task] = std::move(settings);
  if (queue->unfinished++ == 0) retain(queue->object);
  ledger_.submit(task);
}

void ActorTable::ask(ActorQueue* queue) {
  queue->state = ActorQueue::State::kAsked;
  if (!queue->object->uncounted) objects_.share(queue->object);
  link_.send(wire::ControlType::kConnectActor, 0, wire::ActorName{queue->object->id});
  link_.flush();
}

void ActorTable::ready(Task* task, bool) {
  if (task->constructs) return send_constructor(task);
  advance(task->actor);
}

void ActorTable::advance(ActorQueue* queue) {
  if (queue->state == ActorQueue::State::kDead) {
    std::deque<Task*> ready = std::move(queue->ready);
    queue->ready.clear();
    for (Task* task : ready) {
      task->state = Task::State::kDone;
      fail(queue, task, wire::ActorDeath::Executed::kNo);
    }
    return;
  }
  if (queue->state != ActorQueue::State::kConnected || queue->connection->dead) return;
  Lease* connection = queue->connection.get();
  while (!queue->ready.empty() && connection->sent.size() < kMostSent && !connection->dead) {
    Task* task = queue->ready.front();
    if (task->state != Task::State::kQueued) return;  // its arguments are not ready, and later calls wait for it
    queue->ready.pop_front();
    ledger_.send_call(connection, task);
  }
}

void ActorTable::send_constructor(Task* task) {
  wire::ConstructActor message;
  message.actor = task->actor->object->id;
  const std::string_view body = std::string_view(task->frame).substr(sizeof(wire::FrameHeader));
  message.constructor = wire::ConstructorView{*task->function->payload, settings_[task], body}.bytes();
  if (task->extra) {
    for (const Object* held : task->extra->held) message.held.push_back(held->id);
  }
  link_.send(wire::ControlType::kConstructActor, 0, message);
  link_.flush();
  ledger_.end_without_result(task);
}

// An argument of a constructor has failed, so the actor cannot be made.
void ActorTable::ended(Task* task) {
  ActorQueue* queue = task->actor;
  if (task->constructs) {
    settings_.erase(task);
    if (task->first_result->failed()) {
      wire::ConstructActor message;
      message.actor = queue->object->id;
      message.failure.encoding = task->first_result->encoding;
      message.failure.bytes = task->first_result->bytes;
      link_.send(wire::ControlType::kConstructActor, 0, message);
    }
  } else if (task->state == Task::State::kWaiting || task->state == Task::State::kQueued) {
    // The queue is in the order of submission, which is that of the numbers.
    auto place = std::lower_bound(queue->ready.begin(), queue->ready.end(), task->number(),
                                  [](const Task* call, std::uint64_t number) { return call->number() < number; });
    if (place != queue->ready.end() && *place == task) {
      bool was_first = place == queue->ready.begin();
      queue->ready.erase(place);
      if (was_first) advance(queue);
    }
  }
  if (--queue->unfinished == 0) finished_.push_back(queue->object);
}

void ActorTable::collect() {
  while (!finished_.empty()) {
    std::vector<Object*> objects = std::move(finished_);
    finished_.clear();
    for (Object* object : objects) {
      if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(object);
    }
  }
}

std::vector<std::pair<ActorId, std::uint32_t>> ActorTable::unfinished_calls() const {
  std::vector<std::pair<ActorId, std::uint32_t>> calls;
  for (const auto& [actor, queue] : queues_) {
    if (queue->unfinished > 0) calls.emplace_back(actor, static_cast<std::uint32_t>(queue->unfinished));
  }
  return calls;
}

void ActorTable::tick(Clock::time_point now) {
  while (!paused_.empty() && paused_.front().second <= now) {
    auto found = queues_.find(paused_.front().first);
    paused_.erase(paused_.begin());
    if (found != queues_.end()) ask(found->second.get());
  }
}

void ActorTable::clear() {
  for (auto& [id, queue] : queues_) queue->ready.clear();
}

// ---- The connection ----

void ActorTable::connected(const wire::ActorConnected& message, os::Fd fd) {
  auto found = queues_.find(message.actor);
  if (found == queues_.end()) return;
  ActorQueue* queue = found->second.get();
  if (queue->connection && !queue->connection->dead) return;  // the connection was requested once more than needed
  if (!fd.is_open()) {                                        // no descriptor was free for it: try again later
    if (++queue->times_without_descriptors >= kMostTimesWithoutDescriptors) return give_up(queue);
    paused_.emplace_back(message.actor, Clock::now() + kPauseWithoutDescriptors);
    return;
  }
  queue->times_without_descriptors = 0;
  forget_pause(message.actor);
  // The last socket broke although the incarnation lives: it is unknown which calls arrived.
  if (queue->connection) {
    wire::ActorLost cut;
    cut.last_started = wire::ActorLost::kUnknown;
    queue->death.fate = cut.fate;
    queue->death.text = "its connection broke while it ran the call";
    sort_out(queue, cut);
  }
  auto connection = std::make_unique<Lease>();
  connection->actor = queue;
  connection->pid = message.pid;
  connection->socket = wire::FrameSocket(std::move(fd));
  queue->connection = std::move(connection);
  queue->state = ActorQueue::State::kConnected;
  ledger_.watch(queue->connection.get());
  advance(queue);
  ledger_.flush();
}

// Fails the waiting calls; a later call requests a connection again.
void ActorTable::give_up(ActorQueue* queue) {
  queue->times_without_descriptors = 0;
  queue->state = ActorQueue::State::kIdle;
  std::deque<Task*> ready = std::exchange(queue->ready, {});
  for (Task* task : ready) {
    task->state = Task::State::kDone;
    ledger_.fail(task, StatusCode::kResourceExhausted, kWithoutDescriptors);
  }
}

void ActorTable::withdraw(Task* task) { ledger_.fail(task, StatusCode::kCancelled, kCancelledUnsent); }

void ActorTable::handle(Lease* connection, const wire::Incoming&) { ledger_.lease_ended(connection); }

void ActorTable::broke(Lease*) {}  // was_read() handles it

void ActorTable::was_read(Lease* connection, bool) {
  if (connection->dead) {
    // The node knows whether the actor is dead or only the socket broke. If its message is on its way already, this
    // report changes nothing.
    ActorQueue* queue = connection->actor;
    if (queue->state != ActorQueue::State::kConnected) return;
    queue->state = ActorQueue::State::kAsked;
    paused_.emplace_back(queue->object->id, Clock::now() + kPauseWithoutDescriptors);
    return;
  }
  advance(connection->actor);
}

void ActorTable::lost(const wire::ActorLost& message) {
  auto found = queues_.find(message.actor);
  if (found == queues_.end()) return;
  ActorQueue* queue = found->second.get();
  forget_pause(message.actor);  // the node connects this client to the next incarnation by itself
  queue->state = ActorQueue::State::kAsked;
  queue->death.fate = message.fate;
  queue->death.class_name = message.class_name;
  queue->death.name = message.name;
  queue->death.text = message.cause;
  queue->death.code = message.code;
  queue->death.error = message.error.encoding == wire::Encoding::kException ? message.error.bytes : "";
  if (queue->connection) ledger_.receive(queue->connection.get());  // answers that arrived before the end
  if (message.is_end()) queue->state = ActorQueue::State::kDead;
  sort_out(queue, message);
  advance(queue);
}

void ActorTable::forget_pause(const ObjectId& actor) {
  std::erase_if(paused_, [&actor](const auto& paused) { return paused.first == actor; });
}

std::deque<Task*> ActorTable::take_sent(ActorQueue* queue) {
  if (!queue->connection) return {};
  std::deque<Task*> sent = std::move(queue->connection->sent);
  ledger_.forget(queue->connection.get());
  queue->connection.reset();
  return sent;
}

// Repeats or fails the calls that were sent and not answered; docs/decisions/0004 has the table.
void ActorTable::sort_out(ActorQueue* queue, const wire::ActorLost& lost) {
  std::deque<Task*> sent = take_sent(queue);
  std::vector<Task*> failed;
  for (auto it = sent.rbegin(); it != sent.rend(); ++it) {
    Task* task = *it;
    task->lease = nullptr;
    const bool started = task->number() <= lost.last_started;
    const bool again =
        !lost.is_end() && !task->cancelled && (!started || (task->retries_left != 0 && !task->generator));
    if (!again) {
      failed.push_back(task);
      continue;
    }
    if (started) ledger_.prepare_retry(task);
    task->state = Task::State::kQueued;
    queue->ready.push_front(task);
  }
  for (auto it = failed.rbegin(); it != failed.rend(); ++it) {
    if ((*it)->cancelled) {
      ledger_.fail(*it, StatusCode::kCancelled, "the call was cancelled; its actor's process has ended");
      continue;
    }
    using Executed = wire::ActorDeath::Executed;
    const std::uint64_t number = (*it)->number();
    fail(queue, *it,
         number > lost.last_started  ? Executed::kNo
         : number <= lost.last_ended ? Executed::kYes
                                     : Executed::kUnknown);
  }
}

void ActorTable::fail(ActorQueue* queue, Task* task, wire::ActorDeath::Executed executed) {
  wire::ActorDeath death = queue->death;
  death.actor = queue->object->id;
  death.executed = executed;
  const std::string bytes = wire::encoded(death);
  wire::ValueView failure;
  failure.encoding = wire::Encoding::kActorDied;
  failure.bytes = bytes;
  ledger_.fail(task, failure);
}

}  // namespace fray::client
