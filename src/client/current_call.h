// current_call: what the calling thread runs; see Client::set_call.
//
// Threading:  each thread has its own.
// Ownership:  its name belongs to the call.
// Failure:    none.
#pragma once

#include "client/client.h"

namespace fray::client {

extern thread_local RunningCall current_call;

}  // namespace fray::client
