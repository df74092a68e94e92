#include "client/waits/call_waits.h"

#include <algorithm>
#include <utility>

#include "client/tasks/actor_queue.h"
#include "wire/call_wait.h"

namespace fray::client {

// A wait that the node is told of must exist at that moment, or the node would find circles that do not exist. So
// answers of ended calls are sent before the wait is reported, because other processes may wait for them. A probe is
// answered after the sockets were read, because an answer that ends the wait may have arrived.

namespace {
constexpr std::size_t kMostAwaited = 1000;  // objects of one wait that are reported
constexpr int kDeepestArguments = 20;
}  // namespace

// Adds the call that makes this object. False when it is not known for certain. A task with missing arguments waits for
// each of them: with `all` each is added, else only the first one, which alone keeps the object from being made.
bool CallWaits::add_awaited(const Object* object, bool all, int depth, CallWait* wait) const {
  if (wait->awaited.size() >= kMostAwaited) return true;
  const Task* task = object->producer;
  if (task == nullptr) {  // the object comes from another process
    wait->awaited.push_back({object->id, {}, {}});
    return true;
  }
  if (task->state == Task::State::kSent) {
    wait->awaited.push_back(
        {task->first_result->id, task->actor != nullptr ? task->actor->object->id : ActorId{}, task->function->name});
    return true;
  }
  if (task->state != Task::State::kWaiting || !task->extra || depth > kDeepestArguments) return false;
  bool found = false;
  for (const ArgumentPart& part : task->extra->parts) {
    if (part.object == nullptr || part.object->is_ready()) continue;
    found = true;
    if (!add_awaited(part.object, all, depth + 1, wait)) return false;
    if (!all) return true;
  }
  return found;
}

bool CallWaits::describe(const KnownWait& known, CallWait* wait) const {
  const Awaited& awaited = known.awaited;
  std::size_t ready = 0;
  for (const Object* object : awaited.objects) ready += object->has_next();
  if (ready >= awaited.needed) return false;
  const bool all = awaited.needed == awaited.objects.size();
  if (!all && awaited.objects.size() > kMostAwaited) return false;
  wait->call = {connection_.session().epoch, known.call.client, known.call.number};
  wait->name = known.call.name;
  wait->places = blocked_loop() != nullptr ? 1 : seat_.places();
  for (const Object* object : awaited.objects) {
    if (object->has_next()) continue;
    if (!add_awaited(object, all, 0, wait)) return false;
  }
  wait->needed = static_cast<std::uint32_t>(all ? wait->awaited.size() : awaited.needed - ready);
  return true;
}

bool CallWaits::tell(KnownWait& known) {
  wire::CallWaits message;
  WorkerDuty* duty = seat_.duty();
  NodeLink& link = connection_.link();
  if (!link.is_open() || duty == nullptr || !duty->flush_answers() || !describe(known, &message.wait)) return false;
  known.number = ++wait_numbers_;
  known_waits_.push_back(&known);
  link.send(wire::ControlType::kCallWaits, known.number, message);
  link.flush();
  return true;
}

void CallWaits::untell(KnownWait& known) {
  if (known.number == 0) return;
  std::erase(known_waits_, &known);
  NodeLink& link = connection_.link();
  if (!link.is_open()) return;
  link.send(wire::ControlType::kCallWaitEnded, known.number);
  link.flush();
}

void CallWaits::tell_all_again(std::uint64_t probe) {
  for (KnownWait* known : known_waits_) {
    wire::CallWaits message;
    message.probe = probe;
    if (known->refused || !describe(*known, &message.wait)) continue;  // the wait ends, or a later probe reports it
    connection_.link().send(wire::ControlType::kCallWaits, known->number, message);
  }
  connection_.link().flush();
}

void CallWaits::refused(std::uint64_t wait, std::string why) {
  for (KnownWait* known : known_waits_) {
    if (known->number != wait) continue;
    known->refused = true;
    if (refuse_resting(wait, why)) return;
    known->why = std::move(why);
    kernel_.note_news();  // so that its thread wakes up and checks
    if (!known->of_loop.empty() && seat_.is_taken()) seat_.duty()->wake();
    return;
  }
}

// ---- Threads ----

void CallWaits::sleeps(Sleeper& sleeper) {
  sleepers_.push_back(&sleeper);
  changed();
}

void CallWaits::woke(Sleeper& sleeper) {
  std::erase(sleepers_, &sleeper);
  changed();
}

// ---- Calls of an event loop ----

std::uint64_t CallWaits::say_call_waits(std::uint64_t number, const RunningCall& call, std::vector<Object*> objects) {
  ClientLock lock(mutex_);
  for (const auto& each : loop_waits_) {
    if (each->number == number && each->of_loop == objects) return number;
  }
  drop_loop_wait(number);
  KnownWait* said = say_loop_wait(call, std::move(objects));
  return said == nullptr ? 0 : said->number;
}

CallWaits::KnownWait* CallWaits::say_loop_wait(const RunningCall& call, std::vector<Object*> objects) {
  auto made = std::make_unique<KnownWait>();
  made->name = call.name;
  made->call = {call.client, call.number, made->name};
  made->of_loop = std::move(objects);
  made->awaited = {made->of_loop, 1};
  if (!tell(*made)) return nullptr;
  for (Object* object : made->of_loop) retain(object);
  loop_waits_.push_back(std::move(made));
  return loop_waits_.back().get();
}

void CallWaits::forget_call_wait(std::uint64_t wait) {
  ClientLock lock(mutex_);
  drop_loop_wait(wait);
}

void CallWaits::drop_loop_wait(std::uint64_t number) {
  auto found = std::find_if(loop_waits_.begin(), loop_waits_.end(),
                            [number](const auto& each) { return each->number == number; });
  if (found == loop_waits_.end()) return;
  untell(**found);
  for (Object* object : (*found)->of_loop) {
    if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(object);
  }
  loop_waits_.erase(found);
}

std::vector<std::pair<std::uint64_t, std::string>> CallWaits::take_refused_waits() {
  ClientLock lock(mutex_);
  std::vector<std::pair<std::uint64_t, std::string>> refused;
  for (const auto& each : loop_waits_) {
    if (each->refused && !each->why.empty()) refused.emplace_back(each->number, std::exchange(each->why, {}));
  }
  return refused;
}

// ---- Coroutines ----

std::uint64_t CallWaits::begin_side_wait(Object* object, CompletionQueue* queue) {
  ClientLock lock(mutex_);
  const std::uint64_t task = side_waits_.add();
  if (task == SideWaits::kNoTask) return 0;
  retain(object);
  loop_sleepers_.emplace(++wait_numbers_, LoopSleeper{task, object, queue, {}});
  changed();
  return wait_numbers_;
}

std::string CallWaits::end_side_wait(std::uint64_t wait) {
  if (wait == 0) return {};
  ClientLock lock(mutex_);
  auto found = loop_sleepers_.find(wait);
  if (found == loop_sleepers_.end()) return {};
  LoopSleeper sleeper = std::move(found->second);
  loop_sleepers_.erase(found);
  changed();
  side_waits_.drop(sleeper.task);
  if (sleeper.object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(sleeper.object);
  return std::move(sleeper.why);
}

void CallWaits::add_loop(CompletionQueue* queue) {
  ClientLock lock(mutex_);
  loops_.insert(queue);
}

void CallWaits::forget_loop(CompletionQueue* queue) {
  if (connection_.is_abandoned()) return;
  ClientLock lock(mutex_);
  loops_.erase(queue);
  for (auto& [number, sleeper] : loop_sleepers_) {
    if (sleeper.queue == queue) sleeper.queue = nullptr;
  }
}

}  // namespace fray::client
