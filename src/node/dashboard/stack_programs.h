// StackPrograms: the stacks of a node's processes, read by `fray stack` in a process of its own, so that the node's loop
// waits neither for py-spy nor for a process that does not answer.
//
// Threading:  the node's loop.
// Ownership:  owns the pipes; programs that still run at its end are killed. The node reaps them like any child.
// Failure:    kResourceExhausted beyond kMost at once; kTimedOut after kPatience; kUnavailable when the program tells
//             nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <sys/types.h>

#include "base/status.h"
#include "event/loop.h"
#include "os/fd.h"
#include "os/process/spawn.h"

namespace fray::node {

class StackPrograms {
 public:
  static constexpr std::size_t kMost = 4;
  static constexpr std::chrono::seconds kPatience{15};
  using OnStack = std::function<void(Result<std::string> json)>;

  StackPrograms(event::Loop& loop, os::Spawner& spawner) : loop_(loop), spawner_(spawner) {}
  ~StackPrograms();
  StackPrograms(const StackPrograms&) = delete;
  StackPrograms& operator=(const StackPrograms&) = delete;

  // Calls back once: what `fray stack --json` printed. At once when no program can be started.
  void read(const std::string& socket, std::int32_t pid, OnStack on_stack);
  // A child of the node that is not to be killed as an orphan.
  bool is_one(pid_t pid) const { return running_.contains(pid); }

 private:
  struct Running {
    os::Fd pipe;
    std::string text;
    event::TimerId timer = 0;
    OnStack on_stack;
  };

  void ready(pid_t pid);
  void end(pid_t pid, Status why);

  event::Loop& loop_;
  os::Spawner& spawner_;
  std::map<pid_t, Running> running_;
};

}  // namespace fray::node
