// TaskQueue: the tasks of one shape that wait for a worker, and the leases that they have.
//
// Threading:  guarded by the client's mutex.
// Ownership:  owned by TaskQueues, as long as its worker key is in use; tasks belong to the TaskLedger, leases to the
//             TaskTable.
// Failure:    none here; see TaskTable.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "client/leases/demand_window.h"
#include "client/leases/lease.h"
#include "client/leases/lease_order.h"
#include "client/tasks/task.h"
#include "model/work_shape.h"

namespace fray::client {

inline constexpr std::uint32_t kUnknownDemand = ~0u;

struct TaskSender;

struct TaskQueue {
  TaskSender* sender = nullptr;
  std::uint32_t number = 0;  // the demand's number
  WorkShape shape;
  DemandWindow* window = nullptr;                // shared by all queues that differ in their key alone
  std::uint32_t most_leases = 1;                 // how many such workers could ever run at once
  std::uint32_t told = 0;                        // the demand that the node knows, or kUnknownDemand
  bool asks = false;                             // for leases, as last told
  std::uint32_t owed = 0;                        // leases that the node has asked back and not been given yet
  std::optional<Clock::time_point> pause_until;  // no demand before; the process was out of descriptors
  std::uint32_t times_without_descriptors = 0;   // grants in a row that could not be used
  std::deque<Task*> ready;                       // includes tasks that were cancelled here; see TaskTable::withdraw()
  std::size_t cancelled = 0;                     // how many of `ready` are cancelled
  std::uint32_t leases = 0;                      // how many leases it has
  LeaseOrder order;
  std::size_t unfinished = 0;  // tasks that are to run on its leases, wherever they are now

  std::size_t waiting() const { return ready.size() - cancelled; }
};

}  // namespace fray::client
