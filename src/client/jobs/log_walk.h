// LogWalk: how a reader goes through the output of a job on a node: which question comes next, and what an answer
// changes. Both readers use it: the one that waits for answers (client/jobs/job_client.h) and the one that is called back
// (http/job_log.h).
//
//   LogWalk walk(request);
//   while (!walk.is_over()) {
//     if (walk.has_to_open()) walk.opened(ask(walk.to_open()));
//     else batch = walk.read(ask(walk.to_read()));
//   }
//
// An attempt is read to its end before another one is opened, which is always the newest then. One that was chosen by its
// number is read alone.
//
// Threading:  a value; no I/O.
// Ownership:  owns its strings.
// Failure:    opened() and read() return what the node said.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "wire/job.h"

namespace fray::client {

class LogWalk {
 public:
  LogWalk(wire::OpenJobLog from, bool follow) : open_(std::move(from)) {
    read_.wait = follow;
    read_.alone = open_.attempt != 0;
  }

  // Whether nothing is left to ask: at the end, or, without `follow`, behind the present output.
  bool is_over() const { return over_; }
  // Whether nothing will ever follow what was read: the job has ended, or the attempt that was chosen.
  bool is_at_end() const { return is_at_end_; }
  bool has_to_open() const { return !is_open_; }
  const wire::OpenJobLog& to_open() const { return open_; }
  const wire::ReadJobLog& to_read() const { return read_; }
  // Places in the streams of the attempt that is open. A reader of some streams alone, or not from their beginnings,
  // changes them.
  std::vector<LogCursor>& cursors() { return read_.cursors; }
  std::uint32_t attempt() const { return read_.attempt; }
  // From the next question on.
  void set_follow(bool follow) { read_.wait = follow; }

  Status opened(wire::JobLogOpened answer);
  Result<LogBatch> read(wire::JobLogPieces answer);

 private:
  wire::OpenJobLog open_;
  wire::ReadJobLog read_;
  bool is_open_ = false;
  bool of_several_ = false;
  bool is_at_end_ = false;
  bool over_ = false;
};

}  // namespace fray::client
