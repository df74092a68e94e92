// OwnPrograms: programs `fray …` that the node starts for questions that would keep its loop waiting: to a process that may
// not answer, to py-spy, to another cluster.
//
//   programs.ask({"stack", "--json", "--pid", "4711"}, 15s, [](Result<OwnPrograms::Answer> answer) { ... });
//   auto id = programs.follow({"job", "logs", "-f", "--", "train"}, {on_output, on_end});
//
// Threading:  the node's loop. Callbacks come from the loop, never from inside a call.
// Ownership:  owns the pipes; a program that is withdrawn, and those that still run at the end of this object, are killed.
//             The node reaps them like any child, and tells this object of each.
// Failure:    kResourceExhausted beyond kMost at once, or when no program can be started; kTimedOut after the patience. What
//             a program itself says of a failure is in its Answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/status.h"
#include "event/loop.h"
#include "os/fd.h"
#include "os/process/child_processes.h"
#include "os/process/spawn.h"

namespace fray::node {

class OwnPrograms {
 public:
  static constexpr std::size_t kMost = 24;
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // of one answer

  using Id = std::uint64_t;  // is never 0
  using Words = std::vector<std::string>;
  using Variables = std::vector<std::pair<std::string, std::string>>;
  struct Answer {
    std::string output;  // empty when it was handed on as it came
    std::string errors;
    int exit_code = 0;  // valid when `signal` is 0
    int signal = 0;     // the signal that killed the program
  };
  using OnAnswer = std::function<void(Result<Answer> answer)>;
  // `on_output` may pause its program, and withdraw it.
  using OnOutput = std::function<void(std::string_view bytes)>;

  // `program`: the path of the program `fray`.
  OwnPrograms(event::Loop& loop, os::Spawner& spawner, std::string program);
  ~OwnPrograms();
  OwnPrograms(const OwnPrograms&) = delete;
  OwnPrograms& operator=(const OwnPrograms&) = delete;

  // Calls back once, with all that the program printed. `variables` replace those of the node; they may hold secrets, which
  // a command line, which others may read, may not.
  Result<Id> ask(const Words& words, std::chrono::nanoseconds patience, OnAnswer on_answer,
                 const Variables& variables = {});
  // Hands on what the program prints as it comes, until it ends.
  Result<Id> follow(const Words& words, OnOutput on_output, OnAnswer on_end, const Variables& variables = {});
  // Stops and continues reading the output: a program whose pipe is full waits.
  void pause(Id id);
  void go_on(Id id);
  // Kills the program; nothing is called back any more.
  void withdraw(Id id);

  // Whether this child of the node is one of the programs, and so not to be killed as an orphan.
  bool is_one(pid_t pid) const;
  void child_ended(const os::Ended& ended);

 private:
  struct Program {
    pid_t pid = 0;
    os::Fd output;
    os::Fd errors;
    bool paused = false;
    Answer answer;
    bool reaped = false;
    event::TimerId timer = 0;
    OnOutput on_output;
    OnAnswer on_answer;
  };

  Result<Id> start(const Words& words, OnOutput on_output, OnAnswer on_answer, const Variables& variables);
  Status watch(Id id, const os::Fd& pipe);
  void ready(Id id, int fd);
  void end_if_over(Id id);
  void end(Id id, Status why);
  void close(os::Fd& pipe);
  Program take(Id id);

  event::Loop& loop_;
  os::Spawner& spawner_;
  const std::string program_;
  std::map<Id, Program> running_;
  Id last_ = 0;
};

}  // namespace fray::node
