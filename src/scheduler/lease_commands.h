// Commands of the LeaseTable: what the node has to do. Values, compared as such in tests.
//
// Threading:  values.
// Ownership:  they own their strings; processes and leases are named by number.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/status.h"
#include "model/device_set.h"
#include "model/ids.h"

namespace fray::scheduler {

struct StartWorker {  // answered by worker_starting(), or by start_failed()
  WorkerKeyId key = 0;
  friend bool operator==(const StartWorker&, const StartWorker&) = default;
};
struct StopWorker {  // an idle worker is told to end; a leased one is killed
  ProcessId worker = 0;
  bool kill = false;
  friend bool operator==(const StopWorker&, const StopWorker&) = default;
};
struct GrantLease {
  LeaseId lease = 0;
  ProcessId client = 0;
  std::uint32_t demand = 0;
  ProcessId worker = 0;
  DeviceSet devices;  // that the worker is bound to, before it runs anything
  friend bool operator==(const GrantLease&, const GrantLease&) = default;
};
struct ReclaimLeases {  // others wait: give back `count` leases that were granted for this demand
  ProcessId client = 0;
  std::uint32_t count = 0;
  std::uint32_t demand = 0;
  friend bool operator==(const ReclaimLeases&, const ReclaimLeases&) = default;
};
struct LeaseLost {  // the leased worker is gone; tell the client
  LeaseId lease = 0;
  ProcessId client = 0;
  ProcessId worker = 0;
  friend bool operator==(const LeaseLost&, const LeaseLost&) = default;
};
struct RefuseDemand {  // the demand can never be met
  ProcessId client = 0;
  std::uint32_t demand = 0;
  std::string reason;
  StatusCode code = StatusCode::kDeadlock;  // kUnavailable: its workers cannot be started
  friend bool operator==(const RefuseDemand&, const RefuseDemand&) = default;
};
using Command = std::variant<StartWorker, StopWorker, GrantLease, ReclaimLeases, LeaseLost, RefuseDemand>;

}  // namespace fray::scheduler
