// Patience: how long somebody waits for a descriptor, and what ends the wait before.
//
// Threading:  any thread; `interrupted` is called on the thread that waits.
// Ownership:  a value.
// Failure:    kTimedOut at the deadline, kCancelled when `interrupted` says so, kIoError when poll() fails.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/status.h"

namespace fray::door {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

struct Patience {
  Deadline deadline;                  // nullopt: none
  std::function<bool()> interrupted;  // whether to give up; asked after each signal, and now and then. Null: never

  static Patience of(std::chrono::milliseconds time) { return {std::chrono::steady_clock::now() + time, {}}; }
};

// Until one of `events`, or the end, has come.
Status wait_for(int descriptor, short events, const Patience& patience);
// Whether to go on.
Status check(const Patience& patience);

}  // namespace fray::door
