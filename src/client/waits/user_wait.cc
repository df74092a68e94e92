#include "client/waits/user_wait.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace fray::client {

using namespace std::chrono_literals;

namespace {
constexpr auto kTellAfter = 50ms;  // after the begin of a wait, before the node is told of it
constexpr auto kTellAgainMost = 1s;
}  // namespace

void UserWait::begin() {
  if (awaited_ == nullptr || !seat_.is_taken() || current_call.number == 0) return;
  known_.emplace();
  known_->call = current_call;
  known_->awaited = *awaited_;
  tell_again_ = kTellAfter;
  tell_at_ = Clock::now() + kTellAfter;
}

void UserWait::fell_due() {
  const Clock::time_point now = Clock::now();
  if (now >= long_at_) {
    long_at_ = Clock::time_point::max();
    is_long_ = true;
    side_waits_.begin_long_wait();
  }
  if (now >= tell_at_) tell();
}

void UserWait::tell() {
  tell_at_ = Clock::time_point::max();
  if (call_waits_.tell(*known_)) return;
  // The answer is still on its way, so report the wait again later.
  tell_again_ = std::min<Clock::duration>(tell_again_ * 2, kTellAgainMost);
  tell_at_ = Clock::now() + tell_again_;
}

bool UserWait::is_refused() const { return (known_ && known_->refused) || (sleeper_ && sleeper_->refused); }

void UserWait::fall_asleep() {
  if (hooks_.duty() == nullptr && hooks_.waits_for_others() && side_waits_.is_in_job()) {
    long_at_ = Clock::now() + SideWaits::kPatience;
  }
  if (!seat_.is_taken()) return;
  if (hooks_.duty() == nullptr && hooks_.waits_for_others() && !side_wait_) side_wait_ = side_waits_.add();
  if (awaited_ == nullptr || sleeper_) return;
  const bool runs_loop = hooks_.duty() != nullptr && current_call.number == 0;
  sleeper_.emplace(CallWaits::Sleeper{::gettid(), current_call, *awaited_, false, {}, runs_loop});
  call_waits_.sleeps(*sleeper_);
}

void UserWait::before_sleep() {
  if (WorkerDuty* duty = hooks_.duty()) duty->blocked();
  plain_.before_sleep();
}

void UserWait::after_sleep() {
  plain_.after_sleep();
  if (WorkerDuty* duty = hooks_.duty()) duty->unblocked();
}

bool UserWait::interrupted(bool asleep) {
  const bool give_up = plain_.interrupted(asleep);
  if (give_up && asleep) {
    if (WorkerDuty* duty = hooks_.duty()) duty->unblocked();
  }
  return give_up;
}

void UserWait::end() {
  if (known_ && known_->refused) hooks_.deadlock = std::move(known_->why);
  if (sleeper_ && sleeper_->refused) hooks_.deadlock = std::move(sleeper_->why);
  if (is_long_) side_waits_.end_long_wait();
  if (known_) call_waits_.untell(*known_);
  if (sleeper_) call_waits_.woke(*sleeper_);
  if (side_wait_) side_waits_.drop(*side_wait_);
}

}  // namespace fray::client
