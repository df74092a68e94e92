// Status and Result<T>: how every fallible function of the engine answers.
//
//   Result<int> parse(std::string_view text);
//   FRAY_ASSIGN_OR_RETURN(int value, parse("7"));
//
// Threading:  values; safe to copy between threads.
// Ownership:  an error owns its message; an OK status is one null pointer wide.
// Failure:    reading the value of a failed Result is a broken invariant and aborts.
//
// The shape follows leveldb's Status and Arrow's Result.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace fray {

enum class [[nodiscard]] StatusCode : unsigned char {
  kOk = 0,
  kInvalidArgument,    // the caller asked for something that is not allowed
  kNotFound,           // no such object, worker, function or file
  kAlreadyExists,      // a name or path is taken
  kResourceExhausted,  // descriptors, processes or disk ran out
  kStoreFull,          // the object store is full and nothing can be spilled
  kTimedOut,           // a deadline passed
  kCancelled,          // the task was cancelled
  kUnavailable,        // the node cannot be reached or has gone
  kWorkerDied,         // the process that ran the task is gone
  kOwnerDied,          // the process that would have made the object is gone
  kObjectLost,         // the object's bytes are gone
  kDeadlock,           // the wait can never end
  kIoError,            // a system call failed; the message has errno's text
  kCorruption,         // bytes from a peer or a disk break the format
  kInternal,           // a broken invariant that was survived
  kVersionMismatch,    // the two sides come from different releases
  kWorkerOutOfMemory,  // the process that ran the task was killed for its memory
  kActorDied,          // the actor that was called has ended
  kRuntimeEnv,         // the environment that was asked for cannot be made
  kPermissionDenied,   // who asks is not known to the other side, or may not do this
  kClosed,             // this process has closed its connection to the node itself
  kForked,             // what is used belongs to the process that this one was forked from
  kReservationEnded,   // the resources that were asked for are those of a reservation that there is not any more
};

constexpr StatusCode last_of(StatusCode) { return StatusCode::kReservationEnded; }
std::string_view to_string(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  static Status ok() { return Status(); }
  // An I/O error whose message ends with the text of `error` (an errno value).
  static Status io_error(std::string_view what, int error);

  bool is_ok() const { return state_ == nullptr; }
  explicit operator bool() const { return is_ok(); }
  StatusCode code() const { return state_ ? state_->code : StatusCode::kOk; }
  const std::string& message() const;
  std::string to_string() const;

 private:
  struct State {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<State> state_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT
    FRAY_CHECK(!status_.is_ok(), "a Result is built from a value or from an error");
  }

  bool is_ok() const { return value_.has_value(); }
  explicit operator bool() const { return is_ok(); }
  const Status& status() const { return status_; }
  T& value() & {
    FRAY_CHECK(is_ok(), status_.message().c_str());
    return *value_;
  }
  const T& value() const& {
    FRAY_CHECK(is_ok(), status_.message().c_str());
    return *value_;
  }
  T&& value() && {
    FRAY_CHECK(is_ok(), status_.message().c_str());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace fray

#define FRAY_CONCAT_INNER(a, b) a##b
#define FRAY_CONCAT(a, b) FRAY_CONCAT_INNER(a, b)

#define FRAY_RETURN_IF_ERROR(expression)                                                        \
  do {                                                                                          \
    if (::fray::Status fray_status_ = (expression); !fray_status_.is_ok()) return fray_status_; \
  } while (false)

#define FRAY_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                   \
  if (!result.is_ok()) return result.status();                  \
  target = std::move(result).value()

#define FRAY_ASSIGN_OR_RETURN(target, expression) \
  FRAY_ASSIGN_OR_RETURN_INNER(FRAY_CONCAT(fray_result_, __LINE__), target, expression)
