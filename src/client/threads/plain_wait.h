// PlainWait: a wait that the node is not told of, such as one for an answer of the node itself: it calls the hooks around
// its sleep, and does nothing else. See client/threads/wait_kernel.h.
//
// Threading:  as a `Waiter` of WaitKernel.
// Ownership:  borrows the hooks.
// Failure:    none.
#pragma once

#include "client/threads/wait_hooks.h"
#include "client/threads/wait_system.h"

namespace fray::client {

class PlainWait {
 public:
  explicit PlainWait(WaitHooks& hooks) : hooks_(hooks) {}

  bool is_main_thread() const { return hooks_.is_main_thread(); }
  void begin() {}
  void end() {}
  bool is_refused() const { return false; }
  Clock::time_point due() const { return Clock::time_point::max(); }
  void fell_due() {}
  void fall_asleep() {}
  void before_sleep() {
    hooks_.begin_wait();
    hooks_.before_sleep();
  }
  void after_sleep() {
    hooks_.after_sleep();
    hooks_.end_wait();
  }
  bool interrupted(bool asleep) {
    if (asleep) hooks_.after_sleep();
    const bool give_up = hooks_.interrupted();
    if (asleep) give_up ? hooks_.end_wait() : hooks_.before_sleep();
    return give_up;
  }

 private:
  WaitHooks& hooks_;
};

}  // namespace fray::client
