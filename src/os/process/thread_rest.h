// all_threads_rest(): tells whether all threads of this process sleep in waits that only a thread of this process could
// end.
//
//   ThreadRest rest;
//   rest.ignored = {::gettid()};
//   rest.waiting = {…};       // threads whose waits the caller accounts for
//   if (all_threads_rest(rest)) ...
//
// The kernel reports in which system call each thread sleeps, and with which arguments. A wait for a futex without a
// timeout, in memory that only this process has, can be ended only by a thread of this process: so do locks, conditions
// and joins sleep. An epoll without a timeout is woken by the descriptors that it watches, to some of which only this
// process writes. Any other sleep may end by itself, and a signal of a timer or a child process may wake any thread.
//
// Threads can only be checked one after the other, so all of them are checked in two rounds. A thread that has not run
// between its two checks slept at the moment between the rounds. If this holds for all threads, all of them slept at
// that one moment, and no thread was left that could wake another.
//
// Threading:  any thread.
// Ownership:  values, and the names of the last own sockets of the process; reads /proc.
// Failure:    where the kernel does not report enough the result is false.
#pragma once

#include <set>

#include <sys/types.h>

namespace fray::os {

struct ThreadRest {
  std::set<pid_t> ignored;  // the calling thread, and threads that wake no other unless they are woken themselves
  std::set<pid_t> waiting;
  std::set<int> own_descriptors;  // descriptors that only this process makes readable
};

bool all_threads_rest(const ThreadRest& rest);

// Notes a socket that only this process ever makes readable: the one by which threads wake an event loop.
void note_own_socket(int fd);

}  // namespace fray::os
