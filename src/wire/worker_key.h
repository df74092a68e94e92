// Worker keys: what worker processes must be like.
//
// Threading:  values.
// Ownership:  messages own their strings.
// Failure:    as in wire/codec.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wire/control.h"

namespace fray::wire {

// What a worker process must be like. Equal keys share a fork server.
struct WorkerKey {
  std::vector<std::string> command;      // interpreter and its flags; the fork server's entry is appended by the node
  std::vector<std::string> module_path;  // sys.path
  std::string folder;                    // cwd
  std::vector<std::pair<std::string, std::string>> environment;  // whole; values are never logged
  std::string runtime_env;  // what else it is to find, as JSON (model/runtime_env_spec.h); empty: nothing

  FRAY_FIELDS(command, module_path, folder, environment, runtime_env);

  friend bool operator==(const WorkerKey&, const WorkerKey&) = default;
  friend auto operator<=>(const WorkerKey&, const WorkerKey&) = default;
};

// id: the client's own number of this key, used in its demands. Key 0 is what the client itself is like.
struct DefineKey {
  static constexpr ControlType kType = ControlType::kDefineKey;
  std::uint32_t key = 0;
  std::uint32_t prestart = 0;  // how many workers to start at once, before any demand
  WorkerKey description;

  FRAY_FIELDS(key, prestart, description);
};

}  // namespace fray::wire
