// Lease: one leased worker, seen from the client: its direct socket and the tasks that were sent and not answered.
// A connection to an actor is a lease too: one that several clients share, and that lasts as long as the actor's instance.
// TaskQueue: tasks of one shape that wait for a worker, and the leases for them.
//
// Threading:  guarded by Client's mutex.
// Ownership:  TaskTable owns both, ActorTable the connections; tasks in `sent` and `ready` belong to TaskLedger.
// Failure:    `dead` is set when the socket ended. A worker whose socket has ended is of no use to anybody, alive or not:
//             the node is told to end it, and the lease stays until the node said how it ended (WorkerLost).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "client/demand_window.h"
#include "client/given_functions.h"
#include "client/task.h"
#include "model/work_shape.h"
#include "wire/socket.h"

namespace fray::client {

using Clock = std::chrono::steady_clock;

inline constexpr std::uint32_t kUnknownDemand = ~0u;

// A worker or an actor is connected by a descriptor, and this process may have none free: it asks again after a pause, and
// gives up what waits after so many times in a row (5 s).
inline constexpr std::chrono::milliseconds kPauseWithoutDescriptors{50};
inline constexpr std::uint32_t kMostTimesWithoutDescriptors = 100;
inline constexpr const char* kWithoutDescriptors =
    "this process had no descriptor left for the connection to a worker for some seconds; close some, or raise its "
    "limit "
    "of open files (ulimit -n), and submit again";

struct TaskSender;

struct TaskQueue {
  TaskSender* sender = nullptr;
  std::uint32_t number = 0;  // the demand's number
  WorkShape shape;
  DemandWindow* window = nullptr;                // of all that differ in their key alone
  std::uint32_t most_leases = 1;                 // how many such workers could ever run at once
  std::uint32_t told = 0;                        // the demand that the node knows, or kUnknownDemand
  bool asks = false;                             // for leases, as last told
  std::uint32_t owed = 0;                        // leases that the node asked back and did not get
  std::optional<Clock::time_point> pause_until;  // no demand before; the process was out of descriptors
  std::uint32_t times_without_descriptors = 0;   // grants in a row that could not be used
  std::deque<Task*> ready;                       // with tasks that were cancelled here; see TaskTable::withdraw()
  std::size_t cancelled = 0;                     // of them
  std::vector<Lease*> leases;
  std::size_t unfinished = 0;  // tasks that are to run on its leases, wherever they are now

  std::size_t waiting() const { return ready.size() - cancelled; }
};

struct Lease {
  LeaseId id = 0;
  ProcessId worker = 0;
  std::int32_t pid = 0;
  TaskQueue* queue = nullptr;   // null for an actor
  ActorQueue* actor = nullptr;  // whose calls it carries
  wire::FrameSocket socket;
  std::deque<Task*> sent;      // in the order sent
  std::uint32_t buffered = 0;  // of them, frames not yet flushed
  bool blocked = false;        // its task waits in get; it takes no tasks
  bool draining = false;       // to be returned when `sent` is empty
  bool dead = false;
  bool stalled = false;   // its running task is slow: nothing is queued behind it until it answers
  bool recalled = false;  // asked to return what it has not started
  Clock::time_point idle_since;
  Clock::time_point last_answer;
  GivenFunctions functions;  // which the worker has been given on this socket

  bool idle() const { return sent.empty(); }
  bool usable() const { return !blocked && !draining && !dead; }
};

}  // namespace fray::client
