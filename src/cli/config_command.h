// `fray config`: where the C++ package is, for build systems, and the settings that hold here (`fray config show`).
//
//   cmake -D fray_DIR=$(fray config --cmake-dir) ...
//
// Threading:  one thread.
// Ownership:  the options live as long as the app.
// Failure:    returns an exit code of cli/exit_codes.h and says on standard error where it has looked.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/config_show.h"

namespace fray::cli {

struct ConfigArguments {
  bool cmake_dir = false;
  bool include_dir = false;
  bool library_dir = false;
  bool pkg_config_dir = false;
  CLI::App* show_command = nullptr;
  ConfigShowArguments show;
};

void add_config(CLI::App& app, ConfigArguments& arguments);
int run_config(const ConfigArguments& arguments);

}  // namespace fray::cli
