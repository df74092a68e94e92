// The exit codes of the program `fray`.
//
// Threading:  constants and pure functions.
// Ownership:  none.
// Failure:    none.
#pragma once

#include "base/status.h"

namespace fray::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitNotFound = 3;
inline constexpr int kExitTimedOut = 4;
inline constexpr int kExitUnreachable = 5;
inline constexpr int kExitRefused = 6;
inline constexpr int kExitConflict = 7;
inline constexpr int kExitDisk = 74;  // as sysexits.h has it: the disk is full, or fails
inline constexpr int kExitInterrupted = 130;

inline constexpr const char* kExitCodesText =
    "Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 timed out, 5 no node answers, 6 refused login, "
    "7 there is one already";

// The exit code for a failure, unless a command has a more specific one.
int exit_code_of(StatusCode code);
// The exit code for a failure that a node has answered with. The command line itself was right then: the node refuses
// what it asks for, or has no room for it.
int exit_code_of_answer(StatusCode code);

}  // namespace fray::cli
