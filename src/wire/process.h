// Processes of a fork server, and what workers print.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    decode() returns kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "wire/bytes.h"
#include "wire/control.h"

namespace fray::wire {

struct Log {
  static constexpr ControlType kType = ControlType::kLog;
  std::int32_t pid = 0;
  std::uint8_t stream = 1;  // 1 stdout, 2 stderr
  std::string task;
  std::string text;  // whole lines
  void encode(ByteWriter& out) const;
  static Result<Log> decode(std::string_view body);
};

struct Spawned {  // id: process
  static constexpr ControlType kType = ControlType::kSpawned;
  std::int32_t pid = 0;
  std::string error;  // empty when the fork succeeded
  void encode(ByteWriter& out) const;
  static Result<Spawned> decode(std::string_view body);
};

struct Exited {  // id: process
  static constexpr ControlType kType = ControlType::kExited;
  std::int32_t pid = 0;
  std::int32_t wait_status = 0;  // as from waitpid
  std::uint64_t peak_memory_bytes = 0;
  void encode(ByteWriter& out) const;
  static Result<Exited> decode(std::string_view body);
};

}  // namespace fray::wire
