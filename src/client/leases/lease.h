// Lease: one leased worker, seen from the client: its direct socket and the tasks that were sent and not answered.
// A connection to an actor is a lease too: one that several clients share, and that lasts as long as the incarnation.
//
// Threading:  guarded by the client's mutex.
// Ownership:  TaskTable owns leases, an ActorQueue its connection; tasks in `sent` belong to TaskLedger.
// Failure:    `dead` is set when the socket ended. A worker whose socket has ended is of no use to anybody, alive or
//             not: the node is told to end it, and the lease stays until the node said how it ended (WorkerLost).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "client/leases/given_functions.h"
#include "model/ids.h"
#include "wire/socket.h"

namespace fray::client {

struct ActorQueue;
struct Task;
struct TaskQueue;

using Clock = std::chrono::steady_clock;

// A connection to a worker or an actor takes a descriptor, and this process may have none left. It then asks again
// after a pause; after so many times in a row (5 s) the tasks that wait for the connection fail.
inline constexpr std::chrono::milliseconds kPauseWithoutDescriptors{50};
inline constexpr std::uint32_t kMostTimesWithoutDescriptors = 100;
inline constexpr const char* kWithoutDescriptors =
    "this process had no descriptor left for the connection to a worker for some seconds; close some, or raise its "
    "limit of open files (ulimit -n), and submit again";

struct Lease;

// Where a lease stands in the LeaseOrder of its queue.
struct LeasePlace {
  static constexpr std::int32_t kNone = -1;
  std::int32_t sent = kNone;  // in the list of leases with so many tasks sent
  Lease* previous = nullptr;
  Lease* next = nullptr;
  bool returnable = false;  // among those that could return tasks, since then
  bool worth_sharing = false;
  Clock::time_point silent_since;
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
  bool in_flush = false;       // the next flush looks at this lease
  bool blocked = false;        // its task waits in get; it takes no tasks
  bool draining = false;       // to be returned when `sent` is empty
  bool dead = false;
  bool is_read = false;       // its answers are being taken
  bool hung_up = false;       // a send has failed meanwhile, so it ends when they are taken
  bool stalled = false;       // its running task is slow: nothing is queued behind it until it answers
  bool rested = true;         // has answered no task since it was granted, or since it was last idle
  std::uint32_t recalls = 0;  // unanswered questions for the tasks that its worker has not started
  Clock::time_point idle_since;
  Clock::time_point last_answer;
  GivenFunctions functions;  // which the worker has been given on this socket
  LeasePlace place;
  std::uint32_t watch_place = 0;  // used by LeaseWatch
  bool is_told_of = false;        // the LeaseWatch hears when something arrives

  bool idle() const { return sent.empty(); }
  bool usable() const { return !blocked && !draining && !dead; }
  bool may_return() const { return recalls == 0 && !dead && !blocked && sent.size() > 1; }  // what it has not started
};

}  // namespace fray::client
