// The fields of /proc/<pid>/stat behind the name of the process: its state, parent, group and so on.
//
// Threading:  any thread; reads /proc.
// Ownership:  none.
// Failure:    a process that does not exist has no fields.
#pragma once

#include <string>

#include <sys/types.h>

namespace fray::os {

// The fields with single spaces between, from the third one of proc(5) on, `S 1 4211 …`. Empty: there is no such
// process.
std::string stat_behind_name(pid_t pid);

}  // namespace fray::os
