// queue_now(): the time by which leases run out.
//
// FRAY_QUEUE_CLOCK, in the node's environment, may name a file with the seconds that the clock is ahead: tests of leases
// move it in place of waiting (docs/reference/faults.md).
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    none; a file that cannot be read adds nothing.
#pragma once

#include <cstdlib>
#include <fstream>

#include "os/clock.h"
#include "queue/queue_values.h"

namespace fray::node {

inline queue::Now queue_now() {
  queue::Moment ahead{0};
  static const char* const file = std::getenv("FRAY_QUEUE_CLOCK");
  if (file != nullptr) {
    double seconds = 0;
    if (std::ifstream(file) >> seconds) {
      ahead = std::chrono::duration_cast<queue::Moment>(std::chrono::duration<double>(seconds));
    }
  }
  return {queue::Moment(os::monotonic_ns()) + ahead, os::unix_ns() + ahead.count()};
}

}  // namespace fray::node
