// Messages of a fork server about its processes, and the output of workers.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <cstdint>
#include <string>

#include "wire/control.h"

namespace fray::wire {

struct Log {
  static constexpr ControlType kType = ControlType::kLog;
  std::int32_t pid = 0;
  std::uint8_t stream = 1;  // 1 stdout, 2 stderr
  std::string task;
  std::string text;  // whole lines

  FRAY_FIELDS(pid, stream, task, text);
};

struct Spawned {  // id: process
  static constexpr ControlType kType = ControlType::kSpawned;
  std::int32_t pid = 0;
  std::string error;  // empty when the fork succeeded

  FRAY_FIELDS(pid, error);
};

struct Exited {  // id: process
  static constexpr ControlType kType = ControlType::kExited;
  std::int32_t pid = 0;
  std::int32_t wait_status = 0;  // as from waitpid
  std::uint64_t peak_memory_bytes = 0;

  FRAY_FIELDS(pid, wait_status, peak_memory_bytes);
};

}  // namespace fray::wire
