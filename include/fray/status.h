// Status, Result<T> and Error: how the functions of the API report failures.
//
//   fray::Result<int> sum = fray::get(ref);
//   if (!sum) std::cerr << sum.status().message();
//   int value = fray::get(ref).value_or_throw();    // throws an Error after a failure
//
// Threading:  values.
// Ownership:  an error owns its texts.
// Failure:    reading the value of a failed Result throws the Error that value_or_throw() throws.
#pragma once

#include <fray.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace fray {
inline namespace v1 {

enum class Code : int {
  kOk = FRAY_OK,
  kInvalidArgument = FRAY_INVALID_ARGUMENT,
  kNotFound = FRAY_NOT_FOUND,
  kAlreadyExists = FRAY_ALREADY_EXISTS,
  kResourceExhausted = FRAY_RESOURCE_EXHAUSTED,
  kStoreFull = FRAY_STORE_FULL,
  kTimedOut = FRAY_TIMED_OUT,
  kCancelled = FRAY_CANCELLED,
  kUnavailable = FRAY_UNAVAILABLE,
  kWorkerDied = FRAY_WORKER_DIED,
  kOwnerDied = FRAY_OWNER_DIED,
  kObjectLost = FRAY_OBJECT_LOST,
  kDeadlock = FRAY_DEADLOCK,
  kIoError = FRAY_IO_ERROR,
  kCorruption = FRAY_CORRUPTION,
  kInternal = FRAY_INTERNAL,
  kVersionMismatch = FRAY_VERSION_MISMATCH,
  kWorkerOutOfMemory = FRAY_WORKER_OUT_OF_MEMORY,
  kActorDied = FRAY_ACTOR_DIED,
  kRuntimeEnv = FRAY_RUNTIME_ENV,
  kPermissionDenied = FRAY_PERMISSION_DENIED,
  kTaskFailed = FRAY_TASK_FAILED,
  kWrongType = FRAY_WRONG_TYPE,
};

class [[nodiscard]] Status;

// The exception that value_or_throw() and or_throw() throw.
class Error : public std::runtime_error {
 public:
  explicit Error(const Status& status);
  Code code() const { return code_; }
  // For kTaskFailed, the type of the exception with which the task failed, such as "std::out_of_range" or "ValueError".
  const std::string& type_name() const { return type_name_; }
  // The traceback of a Python exception.
  const std::string& traceback() const { return traceback_; }

 private:
  Code code_;
  std::string type_name_;
  std::string traceback_;
};

// Success, or the code and the message of a failure.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, std::string type_name = {}, std::string traceback = {})
      : state_(std::make_shared<const State>(
            State{code, std::move(message), std::move(type_name), std::move(traceback)})) {}
  // Returns the last failure of this thread.
  static Status last() {
    const fray_error* error = fray_last_error();
    return Status(static_cast<Code>(error->code), error->message, error->type_name, error->traceback);
  }
  static Status of(int code) { return code == FRAY_OK ? Status() : last(); }

  bool is_ok() const { return state_ == nullptr; }
  explicit operator bool() const { return is_ok(); }
  Code code() const { return state_ ? state_->code : Code::kOk; }
  const std::string& message() const { return state_ ? state_->message : empty(); }
  const std::string& type_name() const { return state_ ? state_->type_name : empty(); }
  const std::string& traceback() const { return state_ ? state_->traceback : empty(); }
  void or_throw() const {
    if (!is_ok()) throw Error(*this);
  }

 private:
  struct State {
    Code code;
    std::string message;
    std::string type_name;
    std::string traceback;
  };
  static const std::string& empty() {
    static const std::string text;
    return text;
  }
  std::shared_ptr<const State> state_;
};

inline Error::Error(const Status& status)
    : std::runtime_error(status.message()),
      code_(status.code()),
      type_name_(status.type_name()),
      traceback_(status.traceback()) {}

// A value, or the status of the failure that prevented it.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {}  // NOLINT

  bool is_ok() const { return value_.has_value(); }
  explicit operator bool() const { return is_ok(); }
  const Status& status() const { return status_; }
  T& value_or_throw() & {
    status_.or_throw();
    return *value_;
  }
  const T& value_or_throw() const& {
    status_.or_throw();
    return *value_;
  }
  T value_or_throw() && {
    status_.or_throw();
    return std::move(*value_);
  }
  T& operator*() & { return value_or_throw(); }
  const T& operator*() const& { return value_or_throw(); }
  T operator*() && { return std::move(*this).value_or_throw(); }
  T* operator->() { return &value_or_throw(); }
  const T* operator->() const { return &value_or_throw(); }
  T value_or(T otherwise) && { return is_ok() ? std::move(*value_) : std::move(otherwise); }

 private:
  std::optional<T> value_;
  Status status_;
};

// The result of a function that returns no value.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design

  bool is_ok() const { return status_.is_ok(); }
  explicit operator bool() const { return is_ok(); }
  const Status& status() const { return status_; }
  void value_or_throw() const { status_.or_throw(); }

 private:
  Status status_;
};

}  // namespace v1
}  // namespace fray
