// `fray stack`: the Python stacks of a node's workers and drivers, by py-spy where it can, else by the processes
// themselves.
//
// Threading:  one thread; blocks, some seconds for each process that does not answer.
// Ownership:  add_stack() fills `arguments`, which must outlive the parsing.
// Failure:    run_stack() returns an exit code of cli/exit_codes.h: kExitFailed when a process told nothing.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/node_session.h"

namespace fray::cli {

struct StackArguments {
  NodeOption socket;
  int pid = 0;  // 0: all
  bool json = false;
  bool without_py_spy = false;
};

void add_stack(CLI::App& app, StackArguments& arguments);
int run_stack(const StackArguments& arguments);

}  // namespace fray::cli
