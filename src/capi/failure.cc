#include "capi/failure.h"

#include <fray.h>

namespace fray::capi {

namespace {

struct LastFailure {
  fray_error error{FRAY_OK, "", "", ""};
  wire::Failure texts;
};
thread_local LastFailure last;

int remember(int code, wire::Failure texts) {
  last.texts = std::move(texts);
  last.error = {code, last.texts.message.c_str(), last.texts.type_name.c_str(), last.texts.traceback.c_str()};
  return code;
}

}  // namespace

namespace {

// The C API has the numbers of StatusCode. What it does not tell apart is kUnavailable there.
int code_of(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      static_assert(static_cast<int>(StatusCode::kOk) == FRAY_OK);
      break;
    case StatusCode::kInvalidArgument:
      static_assert(static_cast<int>(StatusCode::kInvalidArgument) == FRAY_INVALID_ARGUMENT);
      break;
    case StatusCode::kNotFound:
      static_assert(static_cast<int>(StatusCode::kNotFound) == FRAY_NOT_FOUND);
      break;
    case StatusCode::kAlreadyExists:
      static_assert(static_cast<int>(StatusCode::kAlreadyExists) == FRAY_ALREADY_EXISTS);
      break;
    case StatusCode::kResourceExhausted:
      static_assert(static_cast<int>(StatusCode::kResourceExhausted) == FRAY_RESOURCE_EXHAUSTED);
      break;
    case StatusCode::kStoreFull:
      static_assert(static_cast<int>(StatusCode::kStoreFull) == FRAY_STORE_FULL);
      break;
    case StatusCode::kTimedOut:
      static_assert(static_cast<int>(StatusCode::kTimedOut) == FRAY_TIMED_OUT);
      break;
    case StatusCode::kCancelled:
      static_assert(static_cast<int>(StatusCode::kCancelled) == FRAY_CANCELLED);
      break;
    case StatusCode::kUnavailable:
      static_assert(static_cast<int>(StatusCode::kUnavailable) == FRAY_UNAVAILABLE);
      break;
    case StatusCode::kWorkerDied:
      static_assert(static_cast<int>(StatusCode::kWorkerDied) == FRAY_WORKER_DIED);
      break;
    case StatusCode::kOwnerDied:
      static_assert(static_cast<int>(StatusCode::kOwnerDied) == FRAY_OWNER_DIED);
      break;
    case StatusCode::kObjectLost:
      static_assert(static_cast<int>(StatusCode::kObjectLost) == FRAY_OBJECT_LOST);
      break;
    case StatusCode::kDeadlock:
      static_assert(static_cast<int>(StatusCode::kDeadlock) == FRAY_DEADLOCK);
      break;
    case StatusCode::kIoError:
      static_assert(static_cast<int>(StatusCode::kIoError) == FRAY_IO_ERROR);
      break;
    case StatusCode::kCorruption:
      static_assert(static_cast<int>(StatusCode::kCorruption) == FRAY_CORRUPTION);
      break;
    case StatusCode::kInternal:
      static_assert(static_cast<int>(StatusCode::kInternal) == FRAY_INTERNAL);
      break;
    case StatusCode::kVersionMismatch:
      static_assert(static_cast<int>(StatusCode::kVersionMismatch) == FRAY_VERSION_MISMATCH);
      break;
    case StatusCode::kWorkerOutOfMemory:
      static_assert(static_cast<int>(StatusCode::kWorkerOutOfMemory) == FRAY_WORKER_OUT_OF_MEMORY);
      break;
    case StatusCode::kActorDied:
      static_assert(static_cast<int>(StatusCode::kActorDied) == FRAY_ACTOR_DIED);
      break;
    case StatusCode::kRuntimeEnv:
      static_assert(static_cast<int>(StatusCode::kRuntimeEnv) == FRAY_RUNTIME_ENV);
      break;
    case StatusCode::kPermissionDenied:
      static_assert(static_cast<int>(StatusCode::kPermissionDenied) == FRAY_PERMISSION_DENIED);
      break;
    case StatusCode::kClosed:
    case StatusCode::kForked:
      return FRAY_UNAVAILABLE;
  }
  return static_cast<int>(code);
}

}  // namespace

int fail(int code, std::string message) { return remember(code, {"", "", std::move(message), ""}); }

int fail(const Status& status) { return fail(code_of(status.code()), status.message()); }

int fail(const wire::Failure& failure) {
  wire::Failure texts = failure;
  texts.message = "task '" + failure.task + "' failed with " + failure.type_name + ": " + failure.message;
  return remember(FRAY_TASK_FAILED, std::move(texts));
}

}  // namespace fray::capi

const fray_error* fray_last_error(void) { return &fray::capi::last.error; }
uint32_t fray_abi_version(void) { return FRAY_ABI_VERSION; }
const char* fray_release(void) { return FRAY_VERSION; }
int fray_refuse(int32_t code, const char* message) { return fray::capi::fail(code, message); }
