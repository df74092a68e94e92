// `fray ray`: becomes a Python program that was written for Ray, with `import ray` giving fray.ray.
//
// Threading:  one thread.
// Ownership:  add_ray() fills `arguments`, which must outlive the parsing.
// Failure:    run_ray() returns only when no Python could be started, with an exit code of cli/exit_codes.h.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace fray::cli {

struct RayArguments {
  std::string python;
  std::vector<std::string> words;  // the program and its own
};

void add_ray(CLI::App& app, RayArguments& arguments);
int run_ray(const RayArguments& arguments);

}  // namespace fray::cli
