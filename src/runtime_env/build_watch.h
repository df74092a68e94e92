// BuildWatch: takes the progress of a build, and tells the build when its result is not wanted any more. run_program()
// runs a program of the build under that watch.
//
// Threading:  one thread.
// Ownership:  the caller owns the descriptor. run_program() kills and reaps what it started before it returns.
// Failure:    kCancelled when the result is not wanted any more; kNotFound when the program cannot be started. How the
//             program ended is a value, not a failure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime_env/prepared_env.h"

namespace fray::runtime_env {

struct BuildWatch {
  std::function<void(const std::string& state)> say = [](const std::string&) {};
  int lifeline_fd = -1;  // its end of file means that nobody wants the build any more; -1: never

  Status still_wanted() const;
};

struct ProgramEnd {
  int exit_code = 0;   // 128 + the signal for one that was killed
  std::string output;  // standard output and error, the last MiB
};

struct Program {
  std::vector<std::string> command;
  Variables environment;  // whole
  std::string folder = "/";
};

// `on_line` gets each line as it is printed.
Result<ProgramEnd> run_program(const Program& program, const BuildWatch& watch,
                               const std::function<void(const std::string& line)>& on_line = {});

// This process's own.
Variables own_environment();
// The first executable of that name in `folders` and then on the PATH of `environment`; empty when there is none.
std::string find_program(const std::string& name, const std::vector<std::string>& folders,
                         const Variables& environment);

}  // namespace fray::runtime_env
