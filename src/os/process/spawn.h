// spawn(): starts a program with chosen descriptors, folder and environment, and a clean signal state.
//
// Threading:  any thread.
// Ownership:  the caller owns the descriptors; the child gets copies. It leads a process group of its own.
// Failure:    kNotFound when the program or the folder does not exist; kIoError otherwise. No zombie is left then.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/status.h"

namespace fray::os {

struct SpawnRequest {
  std::vector<std::string> command;
  std::string folder;                                            // empty: the folder of this process
  std::vector<std::pair<std::string, std::string>> environment;  // all variables of the child
  std::vector<std::pair<int, int>> fds;                          // (descriptor here, number there, from 3 on)
  int standard_output = -1;                                      // -1: /dev/null
  int standard_error = -1;
};

Result<pid_t> spawn(const SpawnRequest& request);
// The texts as exec() takes them: a pointer to each, which is valid as long as that text, and a null pointer.
std::vector<char*> exec_pointers(std::vector<std::string>& texts);
// This process's variables.
std::vector<std::pair<std::string, std::string>> own_environment();

// The same as an interface, so that code that starts processes can be tested without processes.
class Spawner {
 public:
  virtual ~Spawner() = default;
  virtual Result<pid_t> spawn(const SpawnRequest& request) = 0;
};
Spawner& spawner();

}  // namespace fray::os
