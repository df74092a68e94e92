// `fray debug`: connects this terminal to a task that waits at breakpoint().
//
// A worker that waits listens on <session folder>/debug-<driver>-<worker>.sock; who connects first talks to its pdb.
//
// Threading:  one thread; blocks until the debugger lets the task go on or standard input ends.
// Ownership:  add_debug() fills `arguments`, which must outlive the parsing.
// Failure:    run_debug() returns an exit code of cli/exit_codes.h: kExitNotFound when no task waits.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/node_session.h"

namespace fray::cli {

struct DebugArguments {
  NodeOption socket;
};

void add_debug(CLI::App& app, DebugArguments& arguments);
int run_debug(const DebugArguments& arguments);

}  // namespace fray::cli
