// `fray env`: the environments and snapshots in the cache: what there is, what may go, and making one.
//
//   fray env list               what is there, what was used last first
//   fray env prune              what was used longest ago goes, until the limit is kept
//   fray env snapshot FOLDER    a snapshot of it; prints where it is
//   fray env prepare --fd N     the making of one for a node (runtime_env/prepare_protocol.h)
//
// Threading:  one thread; blocks.
// Ownership:  add_env() fills `arguments`, which must outlive the parsing.
// Failure:    run_env() returns an exit code of cli/exit_codes.h and says on standard error what failed.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace fray::cli {

struct EnvArguments {
  std::string verb;
  bool json = false;
  bool all = false;    // prune
  std::string limit;   // prune
  std::string folder;  // snapshot
  int fd = -1;         // prepare
};

void add_env(CLI::App& app, EnvArguments& arguments);
int run_env(const EnvArguments& arguments);

}  // namespace fray::cli
