// ForkServerCommand: the command line with which the fork server of a worker key is started in its prepared
// environment.
//
// Threading:  a value.
// Ownership:  owns its texts.
// Failure:    none.
#pragma once

#include <string>
#include <vector>

#include "runtime_env/prepared_env.h"
#include "wire/worker_key.h"

namespace fray::node {

struct ForkServerCommand {
  std::vector<std::string> words;  // the interpreter and its arguments; those of the fork server follow
  std::vector<std::string> module_path;
  bool adds_to_module_path = false;  // `module_path` follows the interpreter's own, and does not replace it
  std::string folder;
  runtime_env::Variables environment;

  static ForkServerCommand of(const wire::WorkerKey& key, const runtime_env::PreparedEnv& prepared);
};

}  // namespace fray::node
