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

static_assert(static_cast<int>(StatusCode::kInvalidArgument) == FRAY_INVALID_ARGUMENT);
static_assert(static_cast<int>(StatusCode::kOutOfMemory) == FRAY_STORE_FULL);
static_assert(static_cast<int>(StatusCode::kWorkerDied) == FRAY_WORKER_DIED);
static_assert(static_cast<int>(StatusCode::kActorDied) == FRAY_ACTOR_DIED);

int fail(int code, std::string message) { return remember(code, {"", "", std::move(message), ""}); }

int fail(const Status& status) { return fail(static_cast<int>(status.code()), status.message()); }

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
