// Patience: how long a call may wait, and what ends the wait earlier.
//
// Threading:  a value; `interrupted` is called on the thread that waits.
// Ownership:  a value.
// Failure:    none. A call that waits returns kTimedOut at the deadline, and kCancelled when `interrupted` says so.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace fray {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

struct Patience {
  Deadline deadline;                  // nullopt: none
  std::function<bool()> interrupted;  // whether to give up; asked after each signal, and now and then. Null: never

  static Patience of(std::chrono::milliseconds time) { return {std::chrono::steady_clock::now() + time, {}}; }
};

}  // namespace fray
