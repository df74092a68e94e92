// Messages on a direct socket, between the client that holds a lease and the leased worker.
//
// In every frame about a task, FrameHeader::id is the task's number: the `sequence` of its first result's ObjectId, whose
// `owner` is the client. Results of one task are numbered consecutively.
//
// Threading:  values; views look into the frame.
// Ownership:  views own nothing.
// Failure:    decode functions return kCorruption when the body does not fit; the connection must then be closed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/status.h"
#include "model/ids.h"
#include "wire/bytes.h"
#include "wire/frame.h"
#include "wire/value.h"

namespace fray::wire {

enum class DirectType : std::uint8_t {
  // client -> worker
  kTask = 1,
  kFunction,  // id: function; body: as in wire/function_payload.h
  kCancel,    // id: task; with a body of one byte: what it has started is cancelled, too
  kRecall,    // no body: return every task that has not started, but the first of the lease
  kTaken,     // id: generator task; body: u64 bytes of the item that was taken; ~0: no limit any more
  kForget,    // id: function; no body: no task after this one calls it before it is given again
  // worker -> client
  kResult = 64,
  kItem,       // id: task; body: u32 index, then a value: one item of a generator task
  kReturned,   // u8 reason, then u64 task numbers: not started, never will be
  kUnblocked,  // no body: the worker takes tasks again
};

// The size that a kept function counts with is that of its payload, and this for the loaded callable. Client and worker
// count alike, so that the functions that the client lets a worker keep are those that the worker has room for.
inline constexpr std::size_t kFunctionOverheadBytes = 4096;
inline constexpr std::size_t kMostFunctionBytes = std::size_t{64} << 20;  // that a worker keeps for one client

enum class ReturnReason : std::uint8_t { kBlocked = 0, kRecalled = 1, kRetiring = 2 };
constexpr ReturnReason last_of(ReturnReason) { return ReturnReason::kRetiring; }
// kRetry: the task raised an exception after which its options let it be tried again. There are no values, and the node
// was told of none.
enum class TaskStatus : std::uint8_t { kOk = 0, kFailed = 1, kCancelled = 2, kTimedOut = 3, kRetry = 4 };
constexpr TaskStatus last_of(TaskStatus) { return TaskStatus::kRetry; }
// kCarried: what is called is the first argument, and the function is its first argument.
enum class CallKind : std::uint8_t { kPlain = 0, kGenerator = 1, kCarried = 2 };
constexpr CallKind last_of(CallKind) { return CallKind::kCarried; }

// kTask: this, then the name, then the trace context, then the arguments: `positional` values, then `keywords` times
// (string, value).
struct TaskHead {
  std::uint64_t function = 0;
  double timeout_seconds = 0;  // 0: none
  std::uint16_t returns = 1;   // 0 for a generator task whose items are not counted
  std::uint8_t may_retry = 0;  // 1: kRetry is a possible answer
  std::uint8_t portable = 0;   // 1: the caller reads portable values and failures only (it is not Python)
  std::uint32_t depth = 0;
  std::uint16_t positional = 0;
  std::uint16_t keywords = 0;
  std::uint8_t name_bytes = 0;
  std::uint8_t trace_bytes = 0;  // of a W3C traceparent; 0: the caller is not traced
  CallKind kind = CallKind::kPlain;
  std::uint8_t attempt = 0;
  std::uint32_t item_budget_bytes = 0;  // generator: bytes of items not yet taken that may exist; 0: no limit
  std::uint32_t most_items = 0;         // generator: items not yet taken that may exist; 0: no limit

  FRAY_FIELDS(function, timeout_seconds, returns, may_retry, portable, depth, positional, keywords, name_bytes,
              trace_bytes, kind, attempt, item_budget_bytes, most_items);
};
static_assert(sizeof(TaskHead) == 40);

// kResult: this, then `values` values (a failed task has one: the packed exception).
struct ResultHead {
  std::uint64_t started_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t duration_ns = 0;
  std::uint64_t cpu_ns = kNotMeasured;
  std::uint64_t peak_memory_bytes = kNotMeasured;  // resident in the worker, shared memory included
  std::uint64_t bytes_in = 0;                      // of arguments, with those in shared memory
  std::uint64_t bytes_out = 0;                     // of results and items, likewise
  TaskStatus status = TaskStatus::kOk;
  std::uint8_t retiring = 0;  // 1: the worker takes no more tasks after this one
  std::uint16_t values = 0;
  std::uint32_t reserved = 0;

  static constexpr std::uint64_t kNotMeasured = ~std::uint64_t{0};

  FRAY_FIELDS(started_ns, duration_ns, cpu_ns, peak_memory_bytes, bytes_in, bytes_out, status, retiring, values,
              reserved);
};
static_assert(sizeof(ResultHead) == 56);

// Appends a frame header whose length finish_frame() fills in; false: see set_length().
std::size_t begin_frame(std::string& out, DirectType type, std::uint64_t id);
bool finish_frame(std::string& out, std::size_t begin);
bool append_frame(std::string& out, DirectType type, std::uint64_t id, std::string_view body = {});
// A whole kResult frame; `values`: as many encoded values as the head says.
bool append_result(std::string& out, std::uint64_t task, const ResultHead& head, std::string_view values = {});
// A whole kItem frame; `value`: one encoded value.
bool append_item(std::string& out, std::uint64_t task, std::uint32_t index, std::string_view value);

struct Returned {
  ReturnReason reason = ReturnReason::kBlocked;
  std::vector<std::uint64_t> tasks;

  FRAY_FIELDS(reason, tasks);
};

}  // namespace fray::wire
