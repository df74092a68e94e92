// JobProcesses: the supervisors of attempts: starts them, adopts those that a former node has started, signals them, and
// reports how they ended.
//
// Threading:  the node's loop.
// Ownership:  owns a pidfd for each supervisor. The supervisors outlive this object, unless they were started to die with
//             the process.
// Failure:    start() returns why there is no supervisor. An attempt whose supervisor is gone without a report is lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "event/loop.h"
#include "job/job_record.h"
#include "os/fd.h"
#include "os/process/spawn.h"
#include "supervisor/order.h"

namespace fray::node {

class JobProcesses {
 public:
  using OnEnd = std::function<void(const std::string& job, std::uint32_t attempt, job::AttemptEnd end)>;

  JobProcesses(event::Loop& loop, os::Spawner& spawner, OnEnd on_end)
      : loop_(loop), spawner_(spawner), on_end_(std::move(on_end)) {}
  ~JobProcesses();

  // Makes the attempt's folder, writes the order, starts the supervisor.
  Status start(const std::string& job_folder, const supervisor::Order& order);
  // What became of an attempt that another node began.
  enum class Found { kRuns, kEnded, kNeverBegan };
  Found look(const std::string& job_folder, const std::string& job, std::uint32_t attempt, job::AttemptEnd* end);

  void signal(const std::string& job, int number);
  bool runs(const std::string& job) const { return running_.contains(job); }
  bool empty() const { return running_.empty(); }
  pid_t pid(const std::string& job) const;
  // The job whose supervisor this process is; empty: it is none.
  std::string job_of(pid_t pid) const;
  // Waits, without the loop, until all have ended; kills those that have not ended in time.
  void end_all(std::chrono::milliseconds patience);

 private:
  struct Running {
    std::uint32_t attempt = 0;
    std::string folder;  // of the attempt
    pid_t pid = 0;
    os::Fd pidfd;
  };

  Status watch(const std::string& job, std::uint32_t attempt, std::string folder, pid_t pid, os::Fd pidfd);
  void ended(const std::string& job);
  bool adopt(const std::string& folder, const std::string& job, std::uint32_t attempt);
  static job::AttemptEnd end_of(const std::string& folder);

  event::Loop& loop_;
  os::Spawner& spawner_;
  OnEnd on_end_;
  std::map<std::string, Running, std::less<>> running_;
};

// Beside this program.
std::string supervisor_program();

}  // namespace fray::node
