// WaitHooks: what a thread that waits in a client does before and after its sleep. RunningCall and Awaited say who
// waits, and for what.
//
// Threading:  called on the thread that waits, without a lock.
// Ownership:  the caller's; they outlive the wait.
// Failure:    interrupted() ends the wait with WaitResult::kInterrupted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "client/threads/worker_duty.h"
#include "model/ids.h"

namespace fray::client {

struct Object;

// What a waiting thread does before it sleeps and after (releasing Python's GIL, say), and whether it should give up.
struct WaitHooks {
  virtual ~WaitHooks() = default;
  virtual void begin_wait() {}  // before the first before_sleep(); end_wait() follows the last after_sleep()
  virtual void end_wait() {}
  virtual void before_sleep() {}
  virtual void after_sleep() {}
  virtual bool interrupted() { return false; }  // called between after_sleep() and before_sleep()
  virtual bool is_main_thread() const {
    return false;
  }                                               // asked interrupted(), whenever Client::ask_waiters() was called
  virtual WorkerDuty* duty() { return nullptr; }  // set on the thread that runs a worker's tasks
  virtual bool waits_for_others() const { return true; }  // false: only for the node itself
  std::string deadlock;                                   // after kDeadlock: why the wait can never end
};

// What a thread of a worker runs: a task, or a call of the actor that the process is. `number` 0: nothing.
struct RunningCall {
  ProcessId client = 0;
  std::uint64_t number = 0;
  std::string_view name;  // must outlive the call
};

// What a thread, or a call of an event loop, waits for.
struct Awaited {
  std::span<Object* const> objects;
  std::size_t needed = 0;
};

// What the calling thread runs; see Client::set_call.
extern thread_local RunningCall current_call;

}  // namespace fray::client
