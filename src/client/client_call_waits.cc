// Waits of calls as the node hears of them, which looks for circles among them (actor/wait_graph.h).
//
// What is said has to be true at the moment at which it is said. So answers go out before a wait is told, lest somebody
// waits for what lies here; and a probe is answered after a look at the sockets, where an answer may lie that ends a wait.
#include <algorithm>
#include <utility>

#include "client/client.h"
#include "wire/call_wait.h"

namespace fray::client {

namespace {
constexpr std::size_t kMostAwaited = 1000;  // of one wait; a wait for all of more than these is told of the first
constexpr int kDeepestArguments = 20;
}  // namespace

// What makes this object. False: nothing certain can be said of it now. A task whose arguments are missing waits for each
// of them: `all` of those are added, or the first, without which it does not come either.
bool Client::add_awaited(const Object* object, bool all, int depth, CallWait* wait) const {
  if (wait->awaited.size() >= kMostAwaited) return true;
  const Task* task = object->producer;
  if (task == nullptr) {  // of another process
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

bool Client::describe(const KnownWait& known, CallWait* wait) const {
  const Awaited& awaited = known.awaited;
  std::size_t ready = 0;
  for (const Object* object : awaited.objects) ready += object->has_next();
  if (ready >= awaited.needed) return false;
  const bool all = awaited.needed == awaited.objects.size();
  if (!all && awaited.objects.size() > kMostAwaited) return false;
  wait->call = {session_.epoch, known.call.client, known.call.number};
  wait->name = known.call.name;
  wait->places = places_;
  for (const Object* object : awaited.objects) {
    if (object->has_next()) continue;
    if (!add_awaited(object, all, 0, wait)) return false;
  }
  wait->needed = static_cast<std::uint32_t>(all ? wait->awaited.size() : awaited.needed - ready);
  return true;
}

bool Client::tell(KnownWait& known) {
  wire::CallWaits message;
  if (!link_.is_open() || duty_ == nullptr || !duty_->flush_answers() || !describe(known, &message.wait)) return false;
  known.number = ++wait_numbers_;
  known_waits_.push_back(&known);
  link_.send(wire::ControlType::kCallWaits, known.number, message);
  link_.flush();
  return true;
}

void Client::untell(KnownWait& known) {
  if (known.number == 0) return;
  std::erase(known_waits_, &known);
  if (!link_.is_open()) return;
  link_.send(wire::ControlType::kCallWaitEnded, known.number);
  link_.flush();
}

void Client::tell_all_again(std::uint64_t probe) {
  pump_tasks();
  for (KnownWait* known : known_waits_) {
    wire::CallWaits message;
    message.probe = probe;
    if (known->refused || !describe(*known, &message.wait)) continue;  // it ends, or another time says more
    link_.send(wire::ControlType::kCallWaits, known->number, message);
  }
  link_.flush();
}

void Client::wait_refused(std::uint64_t wait, std::string why) {
  for (KnownWait* known : known_waits_) {
    if (known->number != wait) continue;
    known->refused = true;
    if (refuse_resting(wait, why)) return;
    known->why = std::move(why);
    ++completions_;  // so that whoever waits looks
    if (!known->of_loop.empty() && duty_ != nullptr) duty_->wake();
    return;
  }
}

// ---- Calls of an event loop ----

std::uint64_t Client::say_call_waits(std::uint64_t number, const RunningCall& call, std::vector<Object*> objects) {
  MutexLock lock(mutex_);
  for (const auto& each : loop_waits_) {
    if (each->number == number && each->of_loop == objects) return number;
  }
  drop_loop_wait(number);
  KnownWait* said = say_loop_wait(call, std::move(objects));
  return said == nullptr ? 0 : said->number;
}

Client::KnownWait* Client::say_loop_wait(const RunningCall& call, std::vector<Object*> objects) {
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

void Client::forget_call_wait(std::uint64_t wait) {
  MutexLock lock(mutex_);
  drop_loop_wait(wait);
}

void Client::drop_loop_wait(std::uint64_t number) {
  auto found = std::find_if(loop_waits_.begin(), loop_waits_.end(),
                            [number](const auto& each) { return each->number == number; });
  if (found == loop_waits_.end()) return;
  untell(**found);
  for (Object* object : (*found)->of_loop) {
    if (object->references.fetch_sub(1, std::memory_order_acq_rel) == 1) objects_.destroy(object);
  }
  loop_waits_.erase(found);
}

std::vector<std::pair<std::uint64_t, std::string>> Client::take_refused_waits() {
  MutexLock lock(mutex_);
  std::vector<std::pair<std::uint64_t, std::string>> refused;
  for (const auto& each : loop_waits_) {
    if (each->refused && !each->why.empty()) refused.emplace_back(each->number, std::exchange(each->why, {}));
  }
  return refused;
}

}  // namespace fray::client
