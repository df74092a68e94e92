// queue_now(): the time by which leases run out.
//
// Where asserts are compiled in, so not in a wheel, FRAY_QUEUE_CLOCK may name a file with the seconds that the clock is
// ahead: tests of leases move it in place of waiting.
//
// Threading:  any.
// Ownership:  none.
// Failure:    none; a file that cannot be read adds nothing.
#pragma once

#include "os/clock.h"
#include "queue/queue_values.h"

#ifndef NDEBUG
#include <cstdlib>
#include <fstream>
#endif

namespace fray::node {

inline queue::Now queue_now() {
  queue::Moment ahead{0};
#ifndef NDEBUG
  if (static const char* const file = std::getenv("FRAY_QUEUE_CLOCK"); file != nullptr) {
    double seconds = 0;
    if (std::ifstream(file) >> seconds) {
      ahead = std::chrono::duration_cast<queue::Moment>(std::chrono::duration<double>(seconds));
    }
  }
#endif
  return {queue::Moment(os::monotonic_ns()) + ahead, os::unix_ns() + ahead.count()};
}

}  // namespace fray::node
