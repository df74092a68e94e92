// Supervisor: runs one attempt of a job to its end and reports how it ended, even if the node dies meanwhile.
//
//   SIGTERM, SIGINT   stop: send SIGINT to the process groups of the replicas, after half the grace time SIGTERM to all
//                     descendants, and SIGKILL at its end
//   SIGHUP            kill everything now; the kernel sends it when the process in Order::dies_with ends
//
// The supervisor is a subreaper: a process of the job that double-forks or leaves its session becomes a child of the
// supervisor, and ends with the attempt.
//
// Threading:  one thread.
// Ownership:  owns the lock, the replicas and the watches of the event loop.
// Failure:    run() returns the exit code of the program. An error that keeps the attempt from starting is in the exit
//             report, and on standard error. The kernel releases the lock when the process ends.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "event/loop.h"
#include "os/fd.h"
#include "supervisor/exit_report.h"
#include "supervisor/job_limits.h"
#include "supervisor/order.h"
#include "supervisor/replica.h"

namespace fray::supervisor {

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotAlone = 3;  // another supervisor runs this attempt, or it has ended

class Supervisor {
 public:
  explicit Supervisor(std::string folder) : folder_(std::move(folder)) {}

  int run();

 private:
  Status take_lock(bool* alone);
  Status arrange();
  Status introduce();
  Status start_replicas();
  Status start_replica(std::uint32_t number, const std::vector<std::string>& variables);
  void watch_output(Replica& replica, int index);
  void handle_signals();
  void reap();
  void note_end(const os::Ended& end);
  void stop();
  void kill_now();
  void finish();
  int report(std::string not_started);

  const std::string folder_;
  Order order_;
  os::Fd lock_;
  os::Fd folder_fd_;
  os::Fd signals_;
  std::unique_ptr<event::Loop> loop_;
  std::optional<JobLimits> limits_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  bool stopping_ = false;
  bool lost_parent_ = false;
};

}  // namespace fray::supervisor
