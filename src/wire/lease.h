// Leases of workers: how they begin and end.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "model/device_set.h"
#include "model/ids.h"
#include "wire/control.h"

namespace fray::wire {

struct Grant {  // id: lease
  static constexpr ControlType kType = ControlType::kGrant;
  std::uint32_t demand = 0;
  ProcessId worker = 0;
  std::int32_t pid = 0;

  FRAY_FIELDS(demand, worker, pid);
};

struct Lease {  // id: lease
  static constexpr ControlType kType = ControlType::kLease;
  ProcessId client = 0;
  double cpus = 0;  // that the lease holds

  FRAY_FIELDS(client, cpus);
};

// The worker's devices for the rest of its life, and the environment variables that tell of them.
struct BindDevices {
  static constexpr ControlType kType = ControlType::kBindDevices;
  DeviceSet devices;
  std::vector<std::pair<std::string, std::string>> environment;

  FRAY_FIELDS(devices, environment);
};

// Other clients wait for workers: give back up to `count` leases, idle ones at once, and busy ones when the tasks that
// were sent to them have ended.
struct Reclaim {
  static constexpr ControlType kType = ControlType::kReclaim;
  std::uint32_t count = 0;
  std::uint32_t demand = 0;  // those granted for this demand

  FRAY_FIELDS(count, demand);
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

  FRAY_FIELDS(pid, exit_code, signal, peak_memory_bytes, last_task, task, log_tail, out_of_memory, why_killed);
};

struct WorkerLost {  // id: lease
  static constexpr ControlType kType = ControlType::kWorkerLost;
  bool expected = false;  // it retired or was killed on request
  ExitFacts facts;

  FRAY_FIELDS(expected, facts);
};

// The demand can never be met: its queued tasks fail with `code` and `reason`.
struct DemandRefused {
  static constexpr ControlType kType = ControlType::kDemandRefused;
  std::uint32_t demand = 0;
  StatusCode code = StatusCode::kDeadlock;  // kUnavailable: its workers cannot be started
  std::string reason;

  FRAY_FIELDS(demand, code, reason);
};

}  // namespace fray::wire
