#include "client/waits/side_waits.h"

namespace fray::client {

void SideWaits::begin_long_wait() {
  NodeLink& link = connection_.link();
  if (long_waits_++ > 0 || !link.is_open()) return;
  link.send(wire::ControlType::kBlocked);
  link.flush();
}

void SideWaits::end_long_wait() {
  NodeLink& link = connection_.link();
  if (--long_waits_ > 0 || !link.is_open()) return;
  link.send(wire::ControlType::kUnblocked);
  link.flush();
}

std::uint64_t SideWaits::add() {
  if (!seat_.is_taken() && !is_in_job()) return kNoTask;  // no other process asks about waits of this one
  if (count_.lasting++ == 0) {
    since_ = Clock::now();
    kernel_.guard();
  }
  return tasks_begun_;
}

void SideWaits::drop(std::uint64_t task) {
  if (task != tasks_begun_ || count_.lasting == 0) return;
  --count_.lasting;
  ++count_.ended;
  if (lent_ && count_.lasting == 0) {
    lent_ = false;
    end_long_wait();
  }
  if (seat_.is_taken()) kernel_.guard();  // the backup thread may have returned resources that the process needs now
}

void SideWaits::task_ended() {
  ++tasks_begun_;
  count_.lasting = 0;
}

void SideWaits::lend(Clock::time_point now) {
  const std::optional<Clock::time_point> due = next_due();
  if (!due || now < *due) return;
  lent_ = true;
  begin_long_wait();
}

}  // namespace fray::client
