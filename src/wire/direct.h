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
  kRecall,    // no body: return every task that has not started
  kTaken,     // id: generator task; body: u64 bytes of items taken since the last one; ~0: no limit any more
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
  std::uint8_t generator = 0;    // 1: a generator task
  std::uint8_t attempt = 0;
  std::uint64_t item_budget_bytes = 0;  // generator: bytes of items not yet taken that may exist; 0: no limit

  static void visit(auto& head, auto&& field) {
    field("function", head.function);
    field("timeout_seconds", head.timeout_seconds);
    field("returns", head.returns);
    field("may_retry", head.may_retry);
    field("portable", head.portable);
    field("depth", head.depth);
    field("positional", head.positional);
    field("keywords", head.keywords);
    field("name_bytes", head.name_bytes);
    field("trace_bytes", head.trace_bytes);
    field("generator", head.generator);
    field("attempt", head.attempt);
    field("item_budget_bytes", head.item_budget_bytes);
  }
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

  static void visit(auto& head, auto&& field) {
    field("started_ns", head.started_ns);
    field("duration_ns", head.duration_ns);
    field("cpu_ns", head.cpu_ns);
    field("peak_memory_bytes", head.peak_memory_bytes);
    field("bytes_in", head.bytes_in);
    field("bytes_out", head.bytes_out);
    field("status", head.status);
    field("retiring", head.retiring);
    field("values", head.values);
    field("reserved", head.reserved);
  }
};
static_assert(sizeof(ResultHead) == 56);

// Appends a frame header whose length finish_frame() fills in; false: see set_length().
std::size_t begin_frame(std::string& out, DirectType type, std::uint64_t id);
bool finish_frame(std::string& out, std::size_t begin);
bool append_frame(std::string& out, DirectType type, std::uint64_t id, std::string_view body = {});

struct Returned {
  ReturnReason reason = ReturnReason::kBlocked;
  std::vector<std::uint64_t> tasks;

  static void visit(auto& message, auto&& field) {
    field("reason", message.reason);
    field("tasks", message.tasks);
  }
};

}  // namespace fray::wire
