// ProcessStacks: the Python stacks of one process of a node, parsed from what faulthandler or py-spy has written.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    lines of an unknown form are left out.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>
#include <nlohmann/json_fwd.hpp>

namespace fray::cli {

struct StackFrame {
  std::string function;
  std::string file;
  int line = 0;
};

struct ThreadStack {
  std::string name;
  bool holds_interpreter = false;  // whether it holds the GIL, where that is known
  std::vector<StackFrame> frames;  // the innermost first
};

struct ProcessStacks {
  pid_t pid = 0;
  std::string role;  // "worker", "driver", "process"
  std::string state;
  std::string task;  // the name of the running task; empty: none runs
  double running_seconds = 0;
  std::string source;   // "py-spy" or "faulthandler"
  std::string problem;  // why the stacks could not be read; empty when they were
  std::vector<ThreadStack> threads;
};

// Parses what Python's faulthandler writes for all threads of a process.
std::vector<ThreadStack> parse_faulthandler(const std::string& text);
// Parses what `py-spy dump --json` prints.
std::vector<ThreadStack> parse_py_spy(const std::string& text);

std::string stacks_text(const std::vector<ProcessStacks>& processes);
nlohmann::json stacks_json(const std::vector<ProcessStacks>& processes);

}  // namespace fray::cli
