// SideWaits: waits during which the CPUs of this process may go to others, though no thread of a task says so itself.
//
// *Side waits* are those for others that do not stop the thread that runs a worker's task: waits of its other threads, which
// UserWait counts, and of coroutines. They belong to the task during which they began; the task loop asks how many last.
// *Long waits* are those of a process of a job: while it waits, the job's CPUs are lent (Blocked, Unblocked).
//
// Threading:  under the client's mutex.
// Ownership:  values.
// Failure:    none; nothing is said to a node that is gone.
#pragma once

#include <cstdint>

#include "client/node_connection.h"
#include "client/worker_seat.h"

namespace fray::client {

class SideWaits {
 public:
  struct Count {
    std::size_t lasting = 0;
    std::uint64_t ended = 0;  // so far
  };

  SideWaits(NodeConnection& connection, ReadingKernel& kernel, WorkerSeat& seat)
      : connection_(connection), kernel_(kernel), seat_(seat) {}

  static constexpr std::uint64_t kNoTask = ~std::uint64_t{0};
  // The task that it belongs to; kNoTask: nobody wants to know.
  std::uint64_t add() FRAY_REQUIRES(client_mutex);
  void drop(std::uint64_t task) FRAY_REQUIRES(client_mutex);
  void task_ended() FRAY_REQUIRES(client_mutex);
  const Count& count() const FRAY_REQUIRES(client_mutex) { return count_; }

  bool is_in_job() const { return connection_.session().in_job; }
  void begin_long_wait() FRAY_REQUIRES(client_mutex);
  void end_long_wait() FRAY_REQUIRES(client_mutex);
  // The program of a job that awaits its tasks in an event loop sleeps where nobody sees it.
  void lend(Clock::time_point now) FRAY_REQUIRES(client_mutex);

 private:
  NodeConnection& connection_;
  ReadingKernel& kernel_;
  WorkerSeat& seat_ FRAY_GUARDED_BY(client_mutex);
  int long_waits_ FRAY_GUARDED_BY(client_mutex) = 0;  // threads
  Count count_ FRAY_GUARDED_BY(client_mutex);
  std::uint64_t tasks_begun_ FRAY_GUARDED_BY(client_mutex) = 0;  // whose side waits count now
  Clock::time_point since_ FRAY_GUARDED_BY(client_mutex);        // when the first of them began
  bool lent_ FRAY_GUARDED_BY(client_mutex) = false;              // for side waits
};

}  // namespace fray::client
