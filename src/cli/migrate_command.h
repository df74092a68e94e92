// `fray migrate`: becomes the Python module that rewrites programs from Ray's API to Fray's, and back.
//
// Threading:  one thread.
// Ownership:  add_migrate() fills `arguments`, which must outlive the parsing.
// Failure:    run_migrate() returns only when no Python could be started, with an exit code of cli/exit_codes.h.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace fray::cli {

struct MigrateArguments {
  std::string python;
  std::vector<std::string> paths;
  bool check = false;
  bool diff = false;
  bool json = false;
  bool to_ray = false;
  bool sync_tests = false;
};

void add_migrate(CLI::App& app, MigrateArguments& arguments);
int run_migrate(const MigrateArguments& arguments);

}  // namespace fray::cli
