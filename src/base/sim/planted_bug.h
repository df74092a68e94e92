// FRAY_PLANTED("name"): true when the environment variable FRAY_BUG names this bug. It stands in the copies of sources that
// tools/plant_bugs.py writes for the simulators, and nowhere else.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    none; a name that no bug has changes nothing.
#pragma once

#include <cstdlib>
#include <string_view>

namespace fray {

inline bool is_planted(std::string_view bug) {
  const char* chosen = std::getenv("FRAY_BUG");
  return chosen != nullptr && chosen == bug;
}

}  // namespace fray

#define FRAY_PLANTED(name)                                \
  ([] {                                                   \
    static const bool planted = ::fray::is_planted(name); \
    return planted;                                       \
  }())
