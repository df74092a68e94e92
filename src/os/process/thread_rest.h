// all_threads_rest(): tells whether all threads of this process sleep in waits that only a thread of this process could
// end.
//
//   ThreadRest rest;
//   rest.ignored = {::gettid()};
//   rest.waiting = {…};       // threads of whose waits the caller knows what ends them
//   if (all_threads_rest(rest)) ...
//
// The kernel says of each thread in which system call it sleeps, and with which arguments. A futex in memory of this
// process alone, without a timeout, is woken by a thread of this process or by nobody: so sleep locks, conditions and
// joins. An epoll without a timeout is woken by the descriptors that it watches; some of them only this process writes to.
// Any other sleep may end by itself, a thread that runs goes on, and a signal of a timer or a child process may wake
// any of them.
//
// Threads are looked at one after the other. So all of them are looked at twice: a thread that has not run between its
// two looks slept at the moment between the first round of looks and the second. When that holds for all threads, they
// all slept at that one moment, and none of them was left that could wake another.
//
// Threading:  any thread.
// Ownership:  values, and the names of the last own sockets of the process; reads /proc.
// Failure:    where the kernel does not say enough the answer is false.
#pragma once

#include <set>

#include <sys/types.h>

namespace fray::os {

struct ThreadRest {
  std::set<pid_t> ignored;  // who looks, and others that wake nobody unless they are woken themselves
  std::set<pid_t> waiting;
  std::set<int> own_descriptors;  // that become readable through this process only
};

bool all_threads_rest(const ThreadRest& rest);

// A socket that becomes readable through this process only, for good: the one by which threads wake an event loop.
void note_own_socket(int fd);

}  // namespace fray::os
