// `fray run`: becomes the Python module that runs a function on the engine. `fray ray`: becomes a Python program that was
// written for Ray, with `import ray` giving fray.ray.
//
// Threading:  one thread.
// Ownership:  add_run() and add_ray() fill `arguments`, which must outlive the parsing.
// Failure:    run_run() and run_ray() return only when no Python could be started, with an exit code of cli/exit_codes.h.
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

struct RayArguments {
  std::string python;
  std::vector<std::string> words;  // the program and its own
};

void add_ray(CLI::App& app, RayArguments& arguments);
int run_ray(const RayArguments& arguments);

}  // namespace fray::cli
