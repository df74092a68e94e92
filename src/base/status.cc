#include "base/status.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fray {

void check_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "fray: invariant broken at %s:%d: %s (%s)\n", file, line, condition, message);
  std::abort();
}

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kAlreadyExists:
      return "already exists";
    case StatusCode::kResourceExhausted:
      return "resource exhausted";
    case StatusCode::kStoreFull:
      return "object store full";
    case StatusCode::kTimedOut:
      return "timed out";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kUnavailable:
      return "node unavailable";
    case StatusCode::kWorkerDied:
      return "worker died";
    case StatusCode::kOwnerDied:
      return "owner died";
    case StatusCode::kObjectLost:
      return "object lost";
    case StatusCode::kDeadlock:
      return "deadlock";
    case StatusCode::kIoError:
      return "I/O error";
    case StatusCode::kCorruption:
      return "corruption";
    case StatusCode::kInternal:
      return "internal error";
    case StatusCode::kVersionMismatch:
      return "version mismatch";
    case StatusCode::kWorkerOutOfMemory:
      return "worker out of memory";
    case StatusCode::kActorDied:
      return "actor died";
    case StatusCode::kRuntimeEnv:
      return "runtime env";
    case StatusCode::kPermissionDenied:
      return "permission denied";
    case StatusCode::kClosed:
      return "closed";
    case StatusCode::kForked:
      return "of another process";
    case StatusCode::kReservationEnded:
      return "reservation ended";
  }
  return "unknown";
}

Status::Status(StatusCode code, std::string message)
    : state_(code == StatusCode::kOk ? nullptr : std::make_unique<State>(State{code, std::move(message)})) {}

Status::Status(const Status& other) : state_(other.state_ ? std::make_unique<State>(*other.state_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) state_ = other.state_ ? std::make_unique<State>(*other.state_) : nullptr;
  return *this;
}

Status Status::io_error(std::string_view what, int error) {
  return Status(StatusCode::kIoError, std::string(what) + ": " + std::strerror(error));
}

const std::string& Status::message() const {
  static const std::string empty;
  return state_ ? state_->message : empty;
}

std::string Status::to_string() const {
  if (is_ok()) return "ok";
  return std::string(fray::to_string(code())) + ": " + message();
}

}  // namespace fray
