// JobInfo: the state of a job at one moment, as its cluster reports it. Times are numbers and ends are codes; texts are
// made of them for output only (model/job_json.h, cli/job_text.h).
//
//   JobInfo::visit(info, [](const char* name, auto& value) { ... });   // every field, for messages
//
// Threading:  a value.
// Ownership:  owns its strings.
// Failure:    none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"

namespace fray {

enum class JobState : std::uint8_t { kPending, kRunning, kSucceeded, kFailed, kStopped };
constexpr JobState last_of(JobState) { return JobState::kStopped; }
std::string_view to_string(JobState state);
inline bool is_final(JobState state) { return state >= JobState::kSucceeded; }

// The phase of a job within its state.
enum class JobPhase : std::uint8_t {
  kBuilding,  // its environment
  kQueued,
  kStarting,
  kBackingOff,
  kRunning,
  kStopping,
  kEnded,
};
constexpr JobPhase last_of(JobPhase) { return JobPhase::kEnded; }
std::string_view to_string(JobPhase phase);

// How the process of one replica ended.
struct ReplicaEnd {
  std::int32_t exit_code = 0;  // when signal is 0
  std::int32_t signal = 0;
  bool asked = false;  // it was told to end: with the job, or because another replica had failed
  std::uint64_t peak_memory_bytes = 0;
  std::string text;  // its own message about its failure, such as "ValueError: no data"; else empty

  template <typename End, typename Visitor>
  static void visit(End& end, Visitor&& visitor) {
    visitor("exit_code", end.exit_code);
    visitor("signal", end.signal);
    visitor("asked", end.asked);
    visitor("peak_memory_bytes", end.peak_memory_bytes);
    visitor("text", end.text);
  }

  bool succeeded() const { return exit_code == 0 && signal == 0; }
  // The exit code as a shell reports it: 128 plus the number of the signal.
  std::int32_t code() const { return signal != 0 ? 128 + signal : exit_code; }
  friend bool operator==(const ReplicaEnd&, const ReplicaEnd&) = default;
};

struct JobInfo {
  JobSpec spec;  // without environment and call
  JobState state = JobState::kPending;
  JobPhase phase = JobPhase::kQueued;
  std::string pending_reason;        // while it is pending: what it waits for
  std::string message;               // why it failed, or was asked to stop
  std::int32_t exit_code = -1;       // of the replica that decided; -1: there is none
  std::vector<ReplicaEnd> replicas;  // once all have ended; else empty
  std::uint32_t attempt = 0;         // the newest; 0: none yet
  std::uint32_t failures = 0;
  std::uint32_t preemptions = 0;
  std::string parent;               // the id of the job that launched it; empty: none did
  std::int32_t supervisor_pid = 0;  // on a node, while it runs
  std::int64_t submitted_unix_ns = 0;
  std::int64_t started_unix_ns = 0;  // 0: it has not
  std::int64_t ended_unix_ns = 0;
  JsonObject further;  // what the cluster tells in its own words, such as {"ray": {...}}

  template <typename Info, typename Visitor>
  static void visit(Info& info, Visitor&& visitor) {
    visitor("spec", info.spec);
    visitor("state", info.state);
    visitor("phase", info.phase);
    visitor("pending_reason", info.pending_reason);
    visitor("message", info.message);
    visitor("exit_code", info.exit_code);
    visitor("replicas", info.replicas);
    visitor("attempt", info.attempt);
    visitor("failures", info.failures);
    visitor("preemptions", info.preemptions);
    visitor("parent", info.parent);
    visitor("supervisor_pid", info.supervisor_pid);
    visitor("submitted_unix_ns", info.submitted_unix_ns);
    visitor("started_unix_ns", info.started_unix_ns);
    visitor("ended_unix_ns", info.ended_unix_ns);
    visitor("further", info.further);
  }

  const std::string& id() const { return spec.id; }
  bool has_ended() const { return is_final(state); }
};

}  // namespace fray
