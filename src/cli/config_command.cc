#include "cli/config_command.h"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/exit_codes.h"

namespace fray::cli {

namespace {

namespace fs = std::filesystem;

// Of an installation (PREFIX/bin/fray), and of a wheel (fray/_bin/fray).
std::vector<fs::path> places() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path prefix = self.parent_path().parent_path();
  return {prefix, prefix / "_cpp"};
}

}  // namespace

void add_config(CLI::App& app, ConfigArguments& arguments) {
  CLI::App* command = app.add_subcommand("config", "Where the C++ package is, and the settings that hold here");
  auto* group = command->add_option_group("one of");
  group->add_flag("--cmake-dir", arguments.cmake_dir, "Folder of frayConfig.cmake: give it as fray_DIR");
  group->add_flag("--include-dir", arguments.include_dir, "Folder of fray.h and fray/");
  group->add_flag("--lib-dir", arguments.library_dir, "Folder of libfray.so");
  group->add_flag("--pkg-config-dir", arguments.pkg_config_dir, "Folder of fray.pc: put it into PKG_CONFIG_PATH");
  group->require_option(0, 1);
  arguments.show_command = add_config_show(*command, arguments.show);
}

int run_config(const ConfigArguments& arguments) {
  if (arguments.show_command->parsed()) return run_config_show(arguments.show);
  std::error_code ignored;
  const std::vector<fs::path> all = places();
  for (const fs::path& prefix : all) {
    if (!fs::exists(prefix / "lib" / "cmake" / "fray" / "frayConfig.cmake", ignored)) continue;
    fs::path shown = prefix;
    if (arguments.cmake_dir) shown /= fs::path("lib") / "cmake" / "fray";
    if (arguments.include_dir) shown /= "include";
    if (arguments.library_dir) shown /= "lib";
    if (arguments.pkg_config_dir) shown /= fs::path("lib") / "pkgconfig";
    fmt::print("{}\n", shown.string());
    return kExitOk;
  }
  fmt::print(stderr, "fray: the C++ package is not installed beside this program; looked below:\n");
  for (const fs::path& prefix : all) fmt::print(stderr, "  {}\n", prefix.string());
  return kExitFailed;
}

}  // namespace fray::cli
