// `fray ps`: the processes of a node, one a line: its jobs, actors and workers, and what each does.
//
// Threading:  one thread; blocks.
// Ownership:  none.
// Failure:    returns an exit code of cli/exit_codes.h and says on standard error what failed.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/node_session.h"

namespace fray::cli {

struct PsArguments {
  NodeOption socket;
  bool json = false;
};

void add_ps(CLI::App& app, PsArguments& arguments);
int run_ps(const PsArguments& arguments);

}  // namespace fray::cli
