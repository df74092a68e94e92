// UserWait: a wait for values that other processes make. While it lasts, its process may lend its CPUs (SideWaits), and
// the node may have to be told of it, so that it finds circles of waits (CallWaits).
//
// Threading:  as a `Waiter` of WaitKernel.
// Ownership:  borrows everything; one for each wait.
// Failure:    a wait that can never end is refused: hooks.deadlock says why.
#pragma once

#include <algorithm>
#include <optional>

#include "client/threads/plain_wait.h"
#include "client/threads/worker_seat.h"
#include "client/waits/call_waits.h"
#include "client/waits/side_waits.h"

namespace fray::client {

class UserWait {
 public:
  // `awaited`: what the wait is for, if it has no limit of time; null: the node is not told.
  UserWait(WaitHooks& hooks, const Awaited* awaited, WorkerSeat& seat, SideWaits& side_waits, CallWaits& call_waits)
      : hooks_(hooks),
        plain_(hooks),
        awaited_(awaited),
        seat_(seat),
        side_waits_(side_waits),
        call_waits_(call_waits) {}

  bool is_main_thread() const { return plain_.is_main_thread(); }
  void begin() FRAY_REQUIRES(client_mutex);
  void end() FRAY_REQUIRES(client_mutex);
  bool is_refused() const FRAY_REQUIRES(client_mutex);
  Clock::time_point due() const { return std::min(tell_at_, long_at_); }
  void fell_due() FRAY_REQUIRES(client_mutex);
  void fall_asleep() FRAY_REQUIRES(client_mutex);
  void before_sleep();
  void after_sleep();
  bool interrupted(bool asleep);

 private:
  void tell() FRAY_REQUIRES(client_mutex);

  WaitHooks& hooks_;
  PlainWait plain_;
  const Awaited* awaited_;
  WorkerSeat& seat_;
  SideWaits& side_waits_;
  CallWaits& call_waits_;

  std::optional<CallWaits::KnownWait> known_;  // nothing for a wait with a deadline, which ends by itself
  Clock::time_point tell_at_ = Clock::time_point::max();
  Clock::duration tell_again_{};
  Clock::time_point long_at_ = Clock::time_point::max();  // when it begins to count as a long wait
  std::optional<CallWaits::Sleeper> sleeper_;
  std::optional<std::uint64_t> side_wait_;
  bool is_long_ = false;
};

}  // namespace fray::client
