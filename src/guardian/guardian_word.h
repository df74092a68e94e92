// What a guardian says to the process that forked its worker, on a socket that keeps the bounds of messages: a word with the
// worker's number or with what failed, later perhaps one that it cannot be executed, and at last one of the worker's end.
// The other one sends a single byte, once it does not need the worker's number any more.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace fray::guardian {

enum class Failed : std::uint8_t { kNothing, kSubreaper, kFork, kExec };

struct GuardianWord {
  pid_t worker = 0;
  Failed failed = Failed::kNothing;
  int error = 0;  // an errno value, of what failed
  int wait_status = 0;
  long peak_memory_kib = 0;
};

}  // namespace fray::guardian
