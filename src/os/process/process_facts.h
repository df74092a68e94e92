// Facts about a living process from the kernel: whether it is stopped, its memory and its CPU time.
//
// Threading:  any thread; reads /proc.
// Ownership:  none.
// Failure:    a process that is gone is not stopped and has no memory.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace fray::os {

// Stopped by a signal (SIGSTOP, SIGTSTP) or by a debugger.
bool is_stopped(pid_t pid);

// Resident memory of the process and everything below it, without what lies in files and shared memory: mapped objects
// belong to the store. Pages that a fork shares count for parent and child alike.
std::uint64_t private_memory_bytes(pid_t pid);
// Resident memory with shared pages divided among their users. The call takes about a millisecond for each 100 MiB.
std::uint64_t proportional_memory_bytes(pid_t pid);

// CPU time of the process so far, in seconds.
double cpu_seconds(pid_t pid);
// The path of a program that lies beside the one that the process runs. Only the name: the kernel does not tell where that is.
std::string program_beside(pid_t pid, const std::string& name);
// The command line of the process, with spaces between the words.
std::string command_line(pid_t pid);

}  // namespace fray::os
