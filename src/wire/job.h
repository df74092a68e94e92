// Messages about jobs, between whoever submits or watches them and the node. FrameHeader::id is a ticket of the sender's,
// which the answer repeats. They are answered to any connection that has said hello, observers among them.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/job_info.h"
#include "model/job_log.h"
#include "model/job_spec.h"
#include "wire/control.h"
#include "wire/resources.h"

namespace fray::wire {

using fray::LogCursor;
using fray::LogPiece;

// Answered by a JobAnswer with the job, once the job is sure to survive the node.
struct SubmitJob {
  static constexpr ControlType kType = ControlType::kSubmitJob;
  JobSpec spec;

  static void visit(auto& message, auto&& field) {
    field("spec", message.spec);
    JobSpec::visit_secrets(message.spec, field);
  }
};

// kGetJobs: none for all. Answered with them, in the order of acceptance or as asked.
// kWaitJobs: the same, once every one has ended. Who does not want to wait any more closes the connection.
// kStopJob: answered at once; a job that has ended is left as it is.
// kDeleteJob: only jobs that have ended, with their folder.
// A name may be the beginning of an id, as long as no other job's begins so.
struct JobNames {
  std::vector<std::string> ids;

  FRAY_FIELDS(ids);
};

struct JobAnswer {
  static constexpr ControlType kType = ControlType::kJobAnswer;
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::vector<JobInfo> jobs;

  FRAY_FIELDS(code, message, jobs);
};

// Which output, and from where. The streams of replicas are independent; 1 is standard output, 2 standard error.
struct OpenJobLog {
  static constexpr ControlType kType = ControlType::kOpenJobLog;
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};  // of lines
  std::string id;
  std::uint32_t attempt = 0;        // 0: the newest
  std::uint64_t tail_lines = kAll;  // of each stream
  std::int64_t since_unix_ns = 0;   // what came before is left out, to the second

  FRAY_FIELDS(id, attempt, tail_lines, since_unix_ns);
};

struct JobLogOpened {
  static constexpr ControlType kType = ControlType::kJobLogOpened;
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::string id;             // in full
  std::uint32_t attempt = 0;  // 0: none was started yet
  std::vector<LogCursor> cursors;

  FRAY_FIELDS(code, message, id, attempt, cursors);
};

// Answered when there is something to read, when the job has ended or begun another attempt, or at once without `wait`.
struct ReadJobLog {
  static constexpr ControlType kType = ControlType::kReadJobLog;
  std::string id;
  std::uint32_t attempt = 0;
  std::uint32_t most_bytes = 256u << 10;  // of each stream
  bool wait = false;
  bool alone = false;  // no other attempt will be read: the end of this one is an answer, too
  std::vector<LogCursor> cursors;

  FRAY_FIELDS(id, attempt, most_bytes, wait, alone, cursors);
};

struct JobLogPieces {
  static constexpr ControlType kType = ControlType::kJobLogPieces;
  StatusCode code = StatusCode::kOk;
  std::string message;
  bool ended = false;        // nothing will follow these pieces in this attempt
  bool job_ended = false;    // no attempt will follow `newest`
  std::uint32_t newest = 0;  // attempt
  std::vector<LogPiece> pieces;

  FRAY_FIELDS(code, message, ended, job_ended, newest, pieces);
};

}  // namespace fray::wire
