// What `fray job …` and `fray submit` were told on the command line.
//
// Threading:  values.
// Ownership:  they own their strings.
// Failure:    the parser refuses what it cannot read; the rest is checked by the commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/node_session.h"

namespace fray::cli {

struct JobSubmitArguments {
  NodeOption socket;
  std::string name;
  std::string id;
  std::vector<std::string> command;
  std::string folder;
  std::vector<std::string> variables;  // NAME=VALUE, or NAME for this program's own
  std::uint32_t replicas = 1;
  std::optional<double> cpus;
  std::optional<double> gpus;
  std::string memory;
  std::uint32_t max_processes = 0;
  std::uint32_t max_files = 0;
  std::string resources;
  std::uint32_t max_failures = 0;
  std::uint32_t max_preemptions = 100;
  std::int32_t priority = 0;
  std::string deadline;
  std::string grace;
  bool shell = false;
  bool no_wait = false;
  bool json = false;
  bool start_node = false;  // where none runs
};

struct JobLogArguments {
  NodeOption socket;
  std::string id;
  bool follow = false;
  std::optional<std::uint64_t> tail;
  std::string since;
  std::string grep;
  std::uint32_t attempt = 0;
  bool json = false;
};

struct JobNameArguments {  // status, list, stop, wait, delete
  NodeOption socket;
  std::vector<std::string> ids;
  std::string timeout;
  std::string state;  // list: only these
  bool json = false;
};

}  // namespace fray::cli
