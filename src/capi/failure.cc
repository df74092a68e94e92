#include "capi/failure.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

// The C API uses the numbers of StatusCode; codes that it does not have become kUnavailable.
constexpr std::pair<StatusCode, int> kSameNumbers[] = {
    {StatusCode::kOk, FRAY_OK},
    {StatusCode::kInvalidArgument, FRAY_INVALID_ARGUMENT},
    {StatusCode::kNotFound, FRAY_NOT_FOUND},
    {StatusCode::kAlreadyExists, FRAY_ALREADY_EXISTS},
    {StatusCode::kResourceExhausted, FRAY_RESOURCE_EXHAUSTED},
    {StatusCode::kStoreFull, FRAY_STORE_FULL},
    {StatusCode::kTimedOut, FRAY_TIMED_OUT},
    {StatusCode::kCancelled, FRAY_CANCELLED},
    {StatusCode::kUnavailable, FRAY_UNAVAILABLE},
    {StatusCode::kWorkerDied, FRAY_WORKER_DIED},
    {StatusCode::kOwnerDied, FRAY_OWNER_DIED},
    {StatusCode::kObjectLost, FRAY_OBJECT_LOST},
    {StatusCode::kDeadlock, FRAY_DEADLOCK},
    {StatusCode::kIoError, FRAY_IO_ERROR},
    {StatusCode::kCorruption, FRAY_CORRUPTION},
    {StatusCode::kInternal, FRAY_INTERNAL},
    {StatusCode::kVersionMismatch, FRAY_VERSION_MISMATCH},
    {StatusCode::kWorkerOutOfMemory, FRAY_WORKER_OUT_OF_MEMORY},
    {StatusCode::kActorDied, FRAY_ACTOR_DIED},
    {StatusCode::kRuntimeEnv, FRAY_RUNTIME_ENV},
    {StatusCode::kPermissionDenied, FRAY_PERMISSION_DENIED},
};
static_assert(std::all_of(std::begin(kSameNumbers), std::end(kSameNumbers),
                          [](const auto& row) { return static_cast<int>(row.first) == row.second; }));
static_assert(static_cast<std::size_t>(last_of(StatusCode())) + 1 == std::size(kSameNumbers) + 3,
              "a code is neither above nor below");

int code_of(StatusCode code) {
  const bool is_told_apart =
      code != StatusCode::kClosed && code != StatusCode::kForked && code != StatusCode::kReservationEnded;
  return is_told_apart ? static_cast<int>(code) : FRAY_UNAVAILABLE;
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
