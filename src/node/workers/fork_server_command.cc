#include "node/workers/fork_server_command.h"

namespace fray::node {

ForkServerCommand ForkServerCommand::of(const wire::WorkerKey& key, const runtime_env::PreparedEnv& prepared) {
  ForkServerCommand command;
  std::vector<std::string> python = key.command;
  if (!prepared.python.empty() && !python.empty()) python.front() = prepared.python;
  command.words = prepared.wrapped(python);
  command.module_path = prepared.module_path_for(key.module_path);
  command.adds_to_module_path = prepared.own_module_path;
  command.folder = prepared.folder_instead_of(key.folder);
  command.environment = key.environment;
  prepared.apply_to(command.environment);
  return command;
}

}  // namespace fray::node
