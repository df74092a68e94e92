// FRAY_CHECK: states an invariant of our own code and aborts with file, line and text when it does not hold.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    aborts the process. Never use it for what a peer, a user or the machine may do: that is a Status.
#pragma once

namespace fray {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* message);
}  // namespace fray

#define FRAY_CHECK(condition, message)                               \
  do {                                                               \
    if (!(condition)) [[unlikely]]                                   \
      ::fray::check_failed(__FILE__, __LINE__, #condition, message); \
  } while (false)
