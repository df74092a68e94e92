// `fray config show [--origin]`: the settings that hold here, and where each comes from.
//
// Threading:  one thread; reads the environment.
// Ownership:  none.
// Failure:    a setting that makes no sense is shown with what is wrong, and the exit code is kExitFailed.
#pragma once

#include <CLI/CLI.hpp>

namespace fray::cli {

struct ConfigShowArguments {
  bool origin = false;
  bool json = false;
};

CLI::App* add_config_show(CLI::App& config, ConfigShowArguments& arguments);
int run_config_show(const ConfigShowArguments& arguments);

}  // namespace fray::cli
