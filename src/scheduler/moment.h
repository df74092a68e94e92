// Moment: a time as the decisions of this folder see it.
//
// Threading:  a value.
// Ownership:  a value.
// Failure:    none.
#pragma once

#include <chrono>

namespace fray::scheduler {

using Moment = std::chrono::nanoseconds;  // of a clock that never goes back; only differences count

}  // namespace fray::scheduler
