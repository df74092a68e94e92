// The exit codes of the program `fray`, which its own processes read as well.
//
// Threading:  constants.
// Ownership:  none.
// Failure:    none.
#pragma once

namespace fray {

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

}  // namespace fray
