// ProcessStacks: the Python stacks of one process of a node, read from what faulthandler or py-spy wrote.
//
// Threading:  values.
// Ownership:  owns its strings.
// Failure:    lines that are not understood are left out.
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
  bool holds_interpreter = false;  // the GIL, as far as it is known
  std::vector<StackFrame> frames;  // the innermost first
};

struct ProcessStacks {
  pid_t pid = 0;
  std::string role;  // "worker", "driver", "process"
  std::string state;
  std::string task;  // empty: none runs
  double running_seconds = 0;
  std::string source;   // "py-spy" or "faulthandler"
  std::string problem;  // why there are no stacks; empty: there are
  std::vector<ThreadStack> threads;
};

// What Python's faulthandler writes for all threads.
std::vector<ThreadStack> parse_faulthandler(const std::string& text);
// What `py-spy dump --json` prints.
std::vector<ThreadStack> parse_py_spy(const std::string& text);

std::string stacks_text(const std::vector<ProcessStacks>& processes);
nlohmann::json stacks_json(const std::vector<ProcessStacks>& processes);

}  // namespace fray::cli
