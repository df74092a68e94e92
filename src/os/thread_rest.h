// thread_rest: whether all threads of this process sleep in waits that only a thread of this process could end.
//
//   ThreadRest rest;
//   rest.looker = ::gettid();
//   rest.waiting = {…};       // of these the caller knows what ends their waits
//   if (all_threads_rest(rest)) ...
//
// The kernel says of each thread in which system call it sleeps, and with which arguments. A futex in memory of this
// process alone, without a timeout, is woken by a thread of this process or by nobody: so sleep locks, conditions and
// joins. An epoll without a timeout is woken by the descriptors that it watches; some of them only this process writes to.
// Any other sleep, and any thread that runs, may go on by itself, and so may all if a timer or a child process sends a signal.
//
// Threads are looked at one after the other, so each is looked at twice: who has not run between the looks slept at the
// moment between them. That holds for all of them at that one moment, and nobody was left to change it.
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
