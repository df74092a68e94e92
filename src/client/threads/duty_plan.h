// DutyPlan: what a worker's duty wants of the client's backup thread, after the thread has looked at it.
//
// Threading:  a value.
// Ownership:  a value.
// Failure:    none.
#pragma once

#include <algorithm>
#include <chrono>

namespace fray::client {

struct DutyPlan {
  using TimePoint = std::chrono::steady_clock::time_point;

  TimePoint due = TimePoint::max();  // when to look again, if nothing happens before
  bool streams = false;  // tasks begin one after the other: they are looked at together, once each millisecond

  void look_at(TimePoint when) { due = std::min(due, when); }
};

}  // namespace fray::client
