// Finds, kills and reaps the children of this process. With become_subreaper(), orphaned descendants become children of
// this process, so that it can find every process that was started below it.
//
// Threading:  one thread of the process reaps.
// Ownership:  none.
// Failure:    a kernel without /proc/<pid>/task/<tid>/children is served by a scan of /proc. kill_all() gives up at its
//             deadline and returns kTimedOut (a process in an uninterruptible sleep).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "base/status.h"

namespace fray::os {

Status become_subreaper();

// This process gets `signal` when its parent ends. False: `parent` had ended before the request reached the kernel.
bool end_with(pid_t parent, int signal);

// Living and dead (not reaped) children of all threads of this process.
std::vector<pid_t> children_of_this_process();
std::vector<pid_t> children_of(pid_t pid);
pid_t parent_of(pid_t pid);  // below 0: there is no such process

struct Ended {
  pid_t pid = 0;
  int wait_status = 0;
  long peak_memory_kib = 0;
};
// One child that has ended, without blocking.
std::optional<Ended> reap_one();

// Sends SIGKILL to `pid` and all its descendants. Best effort: a process that is forked meanwhile becomes an orphan,
// and a child of this process if this is a subreaper.
void kill_tree(pid_t pid);

// Sends `signal` to every descendant once. Best effort, as kill_tree().
void signal_descendants(int signal);

// Kills a process that is not a child of this one, and all its descendants, without leaving orphans: all are stopped
// first, so that none forks meanwhile, and killed when no new one is found.
void kill_stopped_tree(pid_t pid);

// Kills and reaps every descendant, newborn ones and orphans included, until there is none.
Status kill_all_descendants(std::chrono::milliseconds limit, const std::function<void(const Ended&)>& on_ended = {});

}  // namespace fray::os
