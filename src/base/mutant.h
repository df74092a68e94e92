// FRAY_MUTANT(n): true where planted bug `n` is switched on; used to prove that the simulators find bugs.
//
//   if (news_ != told_ && !FRAY_MUTANT(40)) tell();
//
// Compiled in only with -DFRAY_MUTANTS, as the simulators are; elsewhere the constant `false`. The environment variable
// FRAY_MUTANT names the bug.
//
// Threading:  any thread.
// Ownership:  none.
// Failure:    none; a number that names no bug changes nothing.
#pragma once

#ifdef FRAY_MUTANTS

#include <cstdlib>

namespace fray {
inline int chosen_mutant() {
  static const int chosen = [] {
    const char* text = std::getenv("FRAY_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return chosen;
}
}  // namespace fray
#define FRAY_MUTANT(number) (::fray::chosen_mutant() == (number))

#else
#define FRAY_MUTANT(number) false
#endif
