// start_thread(): starts a thread of the engine that no signal interrupts, because signals are for the program's
// threads.
//
//   FRAY_ASSIGN_OR_RETURN(std::thread thread, start_thread([this] { run(); }));
//
// Threading:  any thread. The new one inherits a mask that blocks every signal; that of the caller stays as it is.
// Ownership:  the caller joins the thread.
// Failure:    kResourceExhausted when the limits of the user or the container allow no further thread.
#pragma once

#include <functional>
#include <thread>

#include "base/status.h"

namespace fray::os {

Result<std::thread> start_thread(std::function<void()> run);

}  // namespace fray::os
