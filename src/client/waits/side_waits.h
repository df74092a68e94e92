// SideWaits: counts waits during which other tasks may have the CPUs of this process, although the thread that runs its
// task does not wait itself.
//
// A *side wait* is a wait for values of other processes that does not stop the thread that runs a worker's task: a wait
// of another thread, which UserWait counts, or of a coroutine. It belongs to the task during which it began; the task
// loop asks how many there are. A *long wait* is one of a process of a job: while it lasts, the job's CPUs are lent
// (kBlocked, kUnblocked).
//
// Threading:  under the client's mutex.
// Ownership:  values.
// Failure:    none; a node that is gone is told nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "client/session/node_connection.h"
#include "client/threads/worker_seat.h"

namespace fray::client {

class SideWaits {
 public:
  struct Count {
    std::size_t lasting = 0;
    std::uint64_t ended = 0;  // so far
  };

  SideWaits(NodeConnection& connection, ReadingKernel& kernel, WorkerSeat& seat)
      : connection_(connection), kernel_(kernel), seat_(seat) {}

  static constexpr std::chrono::milliseconds kPatience{25};  // of a wait, before the CPUs of its job are lent
  static constexpr std::uint64_t kNoTask = ~std::uint64_t{0};
  // The task that the wait belongs to; kNoTask: there is none, and the wait does not count.
  std::uint64_t add() FRAY_REQUIRES(client_mutex);
  void drop(std::uint64_t task) FRAY_REQUIRES(client_mutex);
  void task_ended() FRAY_REQUIRES(client_mutex);
  const Count& count() const FRAY_REQUIRES(client_mutex) { return count_; }

  bool is_in_job() const { return connection_.session().in_job; }
  void begin_long_wait() FRAY_REQUIRES(client_mutex);
  void end_long_wait() FRAY_REQUIRES(client_mutex);
  // Lends the CPUs of a job whose program awaits its tasks in an event loop: the loop sleeps in the program's own code,
  // so no wait of this client tells of it.
  void lend(Clock::time_point now) FRAY_REQUIRES(client_mutex);
  // The moment at which lend() is to be called.
  std::optional<Clock::time_point> next_due() const FRAY_REQUIRES(client_mutex) {
    if (!is_in_job() || lent_ || count_.lasting == 0) return std::nullopt;
    return since_ + kPatience;
  }

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
