// JobRecord: the part of a job that outlives the node: its spec, how far it has come, and how it ended. As JSON it is a
// row of the database and a file in the job's folder. Clients are told a JobInfo (model/job_info.h), which is made of
// it.
//
// Threading:  values.
// Ownership:  they own their strings.
// Failure:    parse() returns kCorruption for text that is no record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/status.h"
#include "model/job_info.h"
#include "model/job_spec.h"

namespace fray::job {

using fray::is_final;
using fray::JobPhase;
using fray::JobState;
using fray::ReplicaEnd;
using fray::to_string;

struct AttemptEnd {
  enum class Kind : std::uint8_t {
    kExited,      // the replicas ended, and it is known how
    kLost,        // it is not known: its supervisor was killed, or the machine was
    kNotStarted,  // nothing ran
  };
  Kind kind = Kind::kExited;
  std::vector<ReplicaEnd> replicas;  // kExited
  std::string text;                  // of the other two: why
  friend bool operator==(const AttemptEnd&, const AttemptEnd&) = default;
};

struct JobRecord {
  JobSpec spec;                // without environment and call, which are nobody's to read
  std::uint64_t sequence = 0;  // of acceptance
  std::string parent;          // the id of the job from inside which it was launched; empty: none
  std::uint32_t parent_attempt = 0;
  JobState state = JobState::kPending;
  std::uint32_t attempt = 0;   // the newest; 0: none yet
  bool attempt_open = false;   // it is to run, or may run
  std::uint32_t failures = 0;  // attempts that were followed, or could have been, by another
  std::uint32_t preemptions = 0;
  bool stop_asked = false;
  bool too_late = false;             // its deadline has passed
  std::string message;               // why it was asked to stop, or failed
  std::int32_t exit_code = -1;       // of the replica that decided; -1: there is none
  std::vector<ReplicaEnd> replicas;  // of the attempt that ended last
  std::int64_t accepted_unix_ns = 0;
  std::int64_t started_unix_ns = 0;  // first attempt; 0: none
  std::int64_t ended_unix_ns = 0;    // 0: it has not

  FRAY_FIELDS(spec, sequence, parent, parent_attempt, state, attempt, attempt_open, failures, preemptions, stop_asked,
              too_late, message, exit_code, replicas, accepted_unix_ns, started_unix_ns, ended_unix_ns);

  std::string json() const;
  static Result<JobRecord> parse(std::string_view json);
};

}  // namespace fray::job
