// fork_below(): starts a program that is no child of this process, and forks this process as the child of that program.
//
//   this process ── vfork ─▶ starter ── vfork ─▶ the program, until then in our memory
//                            ends at once              └── fork ─▶ the copy of this process
//
// A fork copies the page tables of all of a process's memory, and who then executes a program gives them up again: 5 and
// 10 ms for a process that has loaded pandas. So the starter and the program run in this process's own memory until the
// program is executed, which is what vfork() is for, and nothing is copied but the copy that was asked for.
//
// The fork is the C library's, called in a child of vfork(). POSIX does not allow that; Linux does, and glibc's handlers of
// forks find the memory and the locks of the thread that called, for that thread waits.
//
// Threading:  one thread, with all signals blocked: a handler would run in the memory that is shared. The thread waits until
//             the program is executed.
// Ownership:  the program gets copies of the descriptors, as 3 and up, and the variables of this process; it is in a session of
//             its own with the default handlers of signals. The copy has all that this process has, and is in that session.
// Failure:    kIoError with what failed. Where the program cannot be executed, the copy has been made; it is for the caller's
//             links to it to tell it so. This process has no further child in any case.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace fray::os {

struct ProgramAbove {
  std::vector<std::string> command;  // the path first; the process number of the copy is added as the last argument
  std::vector<int> fds;
};

enum class Forked { kThisProcess, kCopy };

// Returns twice, like fork().
Result<Forked> fork_below(const ProgramAbove& program);

}  // namespace fray::os
