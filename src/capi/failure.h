// The last failure of a thread, as fray_last_error() shows it.
//
//   if (!made.is_ok()) return fail(made.status());
//
// Threading:  one failure a thread.
// Ownership:  texts live until the thread's next failure.
// Failure:    none.
#pragma once

#include <string>

#include "base/status.h"
#include "wire/failure.h"

namespace fray::capi {

// Each remembers the failure and returns its code.
int fail(int code, std::string message);
int fail(const Status& status);
int fail(const wire::Failure& failure);  // of user code: FRAY_TASK_FAILED

}  // namespace fray::capi
