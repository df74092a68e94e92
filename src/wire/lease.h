// Leases of workers: how they begin and end.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    decode() returns kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/device_set.h"
#include "model/ids.h"
#include "wire/bytes.h"
#include "wire/control.h"

namespace fray::wire {

struct Grant {  // id: lease
  static constexpr ControlType kType = ControlType::kGrant;
  std::uint32_t demand = 0;
  ProcessId worker = 0;
  std::int32_t pid = 0;
  void encode(ByteWriter& out) const;
  static Result<Grant> decode(std::string_view body);
};

struct Lease {  // id: lease
  static constexpr ControlType kType = ControlType::kLease;
  ProcessId client = 0;
  double cpus = 0;  // what the lease holds
  void encode(ByteWriter& out) const;
  static Result<Lease> decode(std::string_view body);
};

// The worker's devices for the rest of its life, and what its environment is to say about them.
struct BindDevices {
  static constexpr ControlType kType = ControlType::kBindDevices;
  DeviceSet devices;
  std::vector<std::pair<std::string, std::string>> environment;
  void encode(ByteWriter& out) const;
  static Result<BindDevices> decode(std::string_view body);
};

// Others wait: give back up to `count` leases, idle ones at once, busy ones when what was sent to them is done.
struct Reclaim {
  static constexpr ControlType kType = ControlType::kReclaim;
  std::uint32_t count = 0;
  std::uint32_t demand = 0;  // those granted for this demand
  void encode(ByteWriter& out) const;
  static Result<Reclaim> decode(std::string_view body);
};

// How a process ended, as far as its parent can know.
struct ExitFacts {
  std::int32_t pid = 0;
  std::int32_t exit_code = 0;  // when signal is 0
  std::int32_t signal = 0;
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t last_task = 0;  // number of the task it started last; those sent after it never started
  std::string task;             // name of the task it ran, empty when idle
  std::string log_tail;         // last lines of its output
  std::string out_of_memory;    // by whom it was killed for its memory, and why; else empty
  std::string why_killed;       // by the node, for another reason; else empty
};

struct WorkerLost {  // id: lease
  static constexpr ControlType kType = ControlType::kWorkerLost;
  bool expected = false;  // it retired or was killed on request
  ExitFacts facts;
  void encode(ByteWriter& out) const;
  static Result<WorkerLost> decode(std::string_view body);
};

// The demand can never be met: its queued tasks fail with `code` and `reason`.
struct Deadlock {
  static constexpr ControlType kType = ControlType::kDeadlock;
  std::uint32_t demand = 0;
  StatusCode code = StatusCode::kDeadlock;  // kUnavailable: its workers cannot be started
  std::string reason;
  void encode(ByteWriter& out) const;
  static Result<Deadlock> decode(std::string_view body);
};

}  // namespace fray::wire
