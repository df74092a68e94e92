// Which exit code of the program `fray` stands for which failure.
//
// Threading:  constants and pure functions.
// Ownership:  none.
// Failure:    none.
#pragma once

#include "base/exit_codes.h"
#include "base/status.h"

namespace fray::cli {

inline constexpr const char* kExitCodesText =
    "Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 timed out, 5 no node answers, 6 refused login, "
    "7 there is one already, 74 the disk is full or fails, 130 interrupted";

// The exit code for a failure, unless a command has a more specific one.
int exit_code_of(StatusCode code);
// The exit code for a failure that a node has answered with. The command line itself was right then: the node refuses
// what it asks for, or has no room for it.
int exit_code_of_answer(StatusCode code);

}  // namespace fray::cli
