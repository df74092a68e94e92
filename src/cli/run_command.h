// `fray run`: becomes the Python module that runs a function on the engine.
//
// Threading:  one thread.
// Ownership:  add_run() fills `arguments`, which must outlive the parsing.
// Failure:    run_run() returns only when no Python could be started, with an exit code of cli/exit_codes.h.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace fray::cli {

struct RunArguments {
  std::string python;
  bool json = false;
  bool debug = false;
  std::string target;
  std::vector<std::string> words;  // the function's own
};

void add_run(CLI::App& app, RunArguments& arguments);
int run_run(const RunArguments& arguments);

}  // namespace fray::cli
