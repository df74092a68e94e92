// Resting calls: those whose own thread does not wait in Fray, but joins a thread that does, or sleeps in an event loop
// that awaits refs.
//
// Fray cannot see what such a thread waits for. But if all threads of the process sleep, and only this process could
// wake them (os/process/thread_rest.h), then none of them continues before one of the process's waits in Fray ends. So
// a resting call waits for any one of the objects of those waits, and the node is told so. This stays true until a wait
// ends or begins, because no thread runs before that. If the node answers that this wait can never end, the wait in
// Fray that began last gets the error.
#include <algorithm>
#include <utility>

#include <unistd.h>

#include "client/waits/call_waits.h"
#include "os/process/thread_rest.h"

namespace fray::client {

using namespace std::chrono_literals;

namespace {
constexpr auto kLookAfter = 50ms;  // how long after the begin or the end of a wait
constexpr auto kLookAgainMost = 1s;
constexpr std::size_t kMostOfLoop = 100;  // calls that are told of a blocked loop; callers of others name its actor
}  // namespace

void CallWaits::changed() {
  ++changes_;
  if (!resting_.empty()) {
    for (std::uint64_t wait : std::exchange(resting_, {})) drop_loop_wait(wait);
  }
  look_again_ = kLookAfter;
  look_at_ = Clock::time_point::min();  // so that the clock is not read at every wait: the next look reads it
}

void CallWaits::add_pending(const Awaited& awaited, std::vector<Object*>* objects) {
  for (Object* object : awaited.objects) {
    if (!object->has_next()) objects->push_back(object);
  }
}

std::vector<Object*> CallWaits::awaited_by_all() const {
  std::vector<Object*> objects;
  for (const Sleeper* sleeper : sleepers_) add_pending(sleeper->awaited, &objects);
  for (const auto& [number, sleeper] : loop_sleepers_) objects.push_back(sleeper.object);
  return objects;
}

std::optional<Clock::time_point> CallWaits::next_look() const {
  if (!may_rest()) return std::nullopt;
  const Clock::time_point soon =
      Clock::now() + kLookAfter;  // so that a look that is due but not made is not requested again at once
  return look_at_ == Clock::time_point::min() ? soon : std::max(look_at_, soon);
}

bool CallWaits::is_time_to_look() const {
  ClientLock lock(mutex_);
  return may_rest() && Clock::now() >= look_at_;
}

bool CallWaits::begin_look() {
  const Clock::time_point now = Clock::now();
  if (look_at_ != Clock::time_point::min()) look_again_ = std::min<Clock::duration>(look_again_ * 2, kLookAgainMost);
  const bool too_early = std::exchange(look_at_, now + look_again_) == Clock::time_point::min();
  return !too_early && may_rest();
}

void CallWaits::look_for_resting(std::span<const RunningCall> calls) {
  os::ThreadRest rest;
  std::uint64_t changes = 0;
  std::vector<RunningCall> silent;  // the calls whose own thread does not wait in Fray
  {
    ClientLock lock(mutex_);
    if (!begin_look()) return;
    for (const RunningCall& call : calls) {
      const bool waits = std::any_of(sleepers_.begin(), sleepers_.end(), [&](const Sleeper* sleeper) {
        return sleeper->call.client == call.client && sleeper->call.number == call.number;
      });
      if (!waits) silent.push_back(call);
    }
    if (silent.empty()) return;
    changes = changes_;
    rest.ignored = {::gettid()};
    for (const Sleeper* sleeper : sleepers_) rest.waiting.insert(sleeper->thread);
    for (const CompletionQueue* queue : loops_) rest.own_descriptors.insert(queue->fd());
  }
  if (!os::all_threads_rest(rest)) return;
  ClientLock lock(mutex_);
  if (changes != changes_) return;
  const std::vector<Object*> objects = awaited_by_all();
  for (const RunningCall& call : silent) {
    if (KnownWait* said = say_loop_wait(call, objects)) resting_.push_back(said->number);
  }
}

CallWaits::Sleeper* CallWaits::blocked_loop() const {
  auto found =
      std::find_if(sleepers_.begin(), sleepers_.end(), [](const Sleeper* sleeper) { return sleeper->runs_loop; });
  return found == sleepers_.end() ? nullptr : *found;
}

void CallWaits::look_for_blocked_loop(std::span<const RunningCall> calls) {
  ClientLock lock(mutex_);
  if (!begin_look()) return;
  const Sleeper* loop = blocked_loop();
  if (loop == nullptr) return;
  std::vector<Object*> objects;
  add_pending(loop->awaited, &objects);
  for (const RunningCall& call : calls.first(std::min(calls.size(), kMostOfLoop))) {
    if (KnownWait* said = say_loop_wait(call, objects)) resting_.push_back(said->number);
  }
}

// Gives the error to the thread of an event loop if that thread itself waits, because no coroutine can run then; else
// to the coroutine or thread whose wait began last.
bool CallWaits::refuse_resting(std::uint64_t wait, std::string& why) {
  if (std::find(resting_.begin(), resting_.end(), wait) == resting_.end()) return false;
  if (Sleeper* loop = blocked_loop()) {
    refuse(*loop, why);
    return true;
  }
  for (auto last = loop_sleepers_.rbegin(); last != loop_sleepers_.rend(); ++last) {
    LoopSleeper& sleeper = last->second;
    if (sleeper.queue == nullptr || !sleeper.why.empty()) continue;
    sleeper.why = std::move(why);
    sleeper.queue->unlisten(sleeper.object);
    sleeper.queue->add(sleeper.object);
    return true;
  }
  if (!sleepers_.empty()) refuse(*sleepers_.back(), why);
  return true;
}

void CallWaits::refuse(Sleeper& sleeper, std::string& why) {
  sleeper.refused = true;
  sleeper.why = std::move(why);
  kernel_.note_news();  // so that its thread wakes up and checks
}

}  // namespace fray::client
