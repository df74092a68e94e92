// Replica: one process of a job. It starts the process, reads its output, and records how it ended.
//
// Threading:  one thread.
// Ownership:  owns the reading ends of the process's pipes; the Supervisor reaps the process.
// Failure:    start() returns why no process could be made. A command that cannot be run exits with 126 or 127 and
//             prints a line on its standard error, as in a shell.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/status.h"
#include "os/fd.h"
#include "os/process/child_processes.h"
#include "supervisor/exit_report.h"
#include "supervisor/log_writer.h"
#include "supervisor/order.h"

namespace fray::supervisor {

class Replica {
 public:
  Replica(std::uint32_t number, int folder_fd, const Order& order);

  // `environment`: texts of the form NAME=VALUE.
  Status start(const Order& order, const os::LimitPlan& limits, std::vector<std::string> environment);
  bool is_running() const { return pid_ > 0 && !ended_; }
  pid_t pid() const { return pid_; }
  void ended(const os::Ended& end);
  void asked_to_end() { report_.asked = report_.asked || !ended_; }

  // The reading end of a pipe; `index` is 0 for standard output, 1 for standard error.
  int fd(int index) const { return pipes_.at(static_cast<std::size_t>(index)).get(); }
  // Moves the output that has come into the log, up to a limit. False at the end of the stream.
  bool read(int index);
  void close_logs();
  ReplicaReport report() const;

 private:
  [[noreturn]] void become(const Order& order, const os::LimitPlan& limits, std::vector<std::string>& environment,
                           int out, int err);

  const std::uint32_t number_;
  std::array<os::Fd, 2> pipes_;
  std::array<LogWriter, 2> logs_;
  pid_t pid_ = 0;
  bool ended_ = false;
  ReplicaReport report_;
};

}  // namespace fray::supervisor
