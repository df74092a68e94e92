// Lengths of time as people read them. Amounts of memory and resources are in base/amount_text.h.
//
// Threading:  any thread.
// Ownership:  values.
// Failure:    none.
#pragma once

#include <string>

namespace fray::cli {

std::string seconds_text(double seconds);  // "12.4 s", "3 min", "1.5 h"

}  // namespace fray::cli
