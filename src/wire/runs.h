// What a client tells its node of the tasks that it had run, while somebody looks at the node's dashboard.
//
// The node asks with the number of runs that it was told of (TellRuns), the client answers with what ran since
// (RunsTold): sums by function, and bars for a picture of who ran what when. Nothing is kept on the client's side.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/ids.h"
#include "wire/control.h"
#include "wire/direct.h"

namespace fray::wire {

// Durations are counted in buckets, four an octave, from a microsecond to some hours.
inline constexpr std::uint8_t kTimeBuckets = 140;
constexpr std::uint8_t time_bucket(std::uint64_t ns) {
  constexpr int kFirstOctave = 10;
  if (ns < (1u << kFirstOctave)) return 0;
  const int octave = static_cast<int>(std::bit_width(ns)) - 1;
  const auto quarter = static_cast<int>((ns >> (octave - 2)) & 3u);
  const int bucket = 1 + 4 * (octave - kFirstOctave) + quarter;
  return static_cast<std::uint8_t>(bucket < kTimeBuckets ? bucket : kTimeBuckets - 1);
}
// The middle of a bucket, in nanoseconds.
constexpr std::uint64_t time_of_bucket(std::uint8_t bucket) {
  if (bucket == 0) return 512;
  const int octave = 10 + (bucket - 1) / 4;
  const auto quarter = static_cast<std::uint64_t>((bucket - 1) % 4);
  return ((8 + 2 * quarter + 1) << octave) >> 3;
}

struct TellRuns {
  static constexpr ControlType kType = ControlType::kTellRuns;
  std::uint64_t since = 0;     // so many runs were told
  std::uint64_t failures = 0;  // so many failures were told

  FRAY_FIELDS(since, failures);
};

struct RunSums {
  std::string name;  // of the function, cut if it is long
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t retried = 0;  // failed and tried again
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
  std::uint64_t measured = 0;  // runs whose CPU time is known
  std::uint64_t cpu_ns = 0;    // of those
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t last_end_ns = 0;                              // CLOCK_MONOTONIC
  std::vector<std::pair<std::uint8_t, std::uint32_t>> times;  // bucket, runs

  FRAY_FIELDS(name, ok, failed, cancelled, timed_out, retried, total_ns, longest_ns, measured, cpu_ns,
              peak_memory_bytes, bytes_in, bytes_out, last_end_ns, times);

  std::uint64_t count() const { return ok + failed + cancelled + timed_out + retried; }
};

// A run, or many short ones of one function, one after the other in one worker, that all ended well.
struct RunBar {
  std::uint32_t function = 0;    // place among the functions of the message
  std::int32_t pid = 0;          // of the worker
  std::uint64_t started_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t lasting_ns = 0;  // from the first one's start to the last one's end
  std::uint32_t count = 1;
  TaskStatus status = TaskStatus::kOk;
  std::uint8_t attempt = 0;  // retries before it
  std::uint64_t task = 0;    // number of the first
  std::uint64_t cpu_ns = ResultHead::kNotMeasured;
  std::uint64_t peak_memory_bytes = ResultHead::kNotMeasured;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;

  FRAY_FIELDS(function, pid, started_ns, lasting_ns, count, status, attempt, task, cpu_ns, peak_memory_bytes, bytes_in,
              bytes_out);
};

struct RunFailure {
  std::uint64_t task = 0;
  std::string text;  // for people: a traceback, or a sentence; its end, if it is long

  FRAY_FIELDS(task, text);
};

struct RunsTold {
  static constexpr ControlType kType = ControlType::kRunsTold;
  std::uint64_t next = 0;        // TellRuns::since of the next question
  std::uint64_t failures = 0;    // TellRuns::failures of the next question
  std::uint64_t forgotten = 0;   // runs that are in no sum: the client did not keep them until it was asked
  std::uint64_t left_out = 0;    // runs that are in a sum and in no bar: there were too many
  std::uint64_t unfinished = 0;  // tasks and calls that were submitted and have not ended
  std::vector<RunSums> functions;
  std::vector<RunBar> bars;
  std::vector<RunFailure> failed;
  std::vector<std::pair<ActorId, std::uint32_t>> calls;  // unfinished ones of actors

  FRAY_FIELDS(next, failures, forgotten, left_out, unfinished, functions, bars, failed, calls);
};

}  // namespace fray::wire
