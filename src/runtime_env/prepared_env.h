// PreparedEnv: a runtime env that was built on this machine, and how it changes the command, folder and variables of a
// process.
//
//   PreparedEnv prepared = ...;
//   folder = prepared.folder_instead_of(folder);
//   prepared.apply_to(environment);
//   command = prepared.wrapped(command);
//
// Threading:  a value.
// Ownership:  owns its texts. The entries of the cache that it names are in `in_use`; a user of the environment has to
//             hold each of them (EnvUse) as long as it uses them.
// Failure:    parse_prepared_env() answers kCorruption.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/status.h"

namespace fray::runtime_env {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct PreparedEnv {
  std::string python;                    // replaces the driver's interpreter; empty: that one is used
  std::vector<std::string> module_path;  // folders whose packages come before those of the driver
  std::string folder;                    // to work in; empty: as before
  std::string folder_was;                // what `folder` is a snapshot of; empty: of no folder
  Variables prepended;                   // to the lists in PATH, PYTHONPATH and the like
  Variables set;
  std::vector<std::string> wrapper;  // program and arguments before the command: a container
  bool own_module_path = false;      // the interpreter's own module path comes first
  bool hides_driver = false;         // the driver's modules are not there
  std::vector<std::string> in_use;   // entries of the cache

  FRAY_FIELDS(python, module_path, folder, folder_was, prepended, set, wrapper, own_module_path, hides_driver, in_use);

  const std::string& folder_instead_of(const std::string& driver) const { return folder.empty() ? driver : folder; }
  // `environment` is whole, each name once.
  void apply_to(Variables& environment) const;
  std::vector<std::string> wrapped(const std::vector<std::string>& command) const;
  // The module path of a Python process that would have `driver` otherwise; with own_module_path, what is added to it.
  std::vector<std::string> module_path_for(const std::vector<std::string>& driver) const;
};

std::string to_json(const PreparedEnv& prepared);
Result<PreparedEnv> parse_prepared_env(std::string_view text);

}  // namespace fray::runtime_env
