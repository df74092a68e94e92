// `fray config`: prints where the C++ package is, for build systems; `fray config show` prints the settings that are in
// effect.
//
//   cmake -D fray_DIR=$(fray config --cmake-dir) ...
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/log_line.h"
#include "base/passwords.h"
#include "cli/command.h"
#include "cli/exit_codes.h"
#include "model/json_text.h"
#include "os/files/run_folder.h"

namespace fray::cli {

namespace {

namespace fs = std::filesystem;

struct ConfigArguments {
  bool cmake_dir = false;
  bool include_dir = false;
  bool library_dir = false;
  bool pkg_config_dir = false;
  bool show = false;  // the settings
  bool origin = false;
  bool json = false;
};

// Of an installation (PREFIX/bin/fray), and of a wheel (fray/_bin/fray).
std::vector<fs::path> places() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path prefix = self.parent_path().parent_path();
  return {prefix, prefix / "_cpp"};
}

struct Setting {
  std::string name;
  std::vector<const char*> variables;  // the first one that is set decides
  std::string value;
  std::string meaning;

  std::string origin() const {
    for (const char* variable : variables) {
      const char* text = std::getenv(variable);
      if (text != nullptr && *text != '\0') return std::string("environment: ") + variable;
    }
    return "default";
  }
};

std::string text_of(const char* variable, const char* otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? text : otherwise;
}

std::vector<Setting> settings() {
  return {
      {"home", {"FRAY_HOME", "XDG_STATE_HOME"}, os::home_path(), "folder of the started node's jobs and logs"},
      {"run_folder", {"FRAY_HOME", "XDG_RUNTIME_DIR"}, os::run_folder_path(), "folder of the nodes' sockets"},
      {"started_node",
       {"FRAY_HOME", "XDG_RUNTIME_DIR"},
       os::started_node_folder(),
       "folder of the started node's socket"},
      {"node_of_this_job",
       {"FRAY_NODE"},
       text_of("FRAY_NODE", "none: this is no process of a job"),
       "address of the node that this process's job runs on; the node sets it for the jobs that it starts"},
      {"cluster_spec",
       {"FRAY_CLUSTER_SPEC"},
       without_passwords(text_of("FRAY_CLUSTER_SPEC", "local")),
       "where programs run that do not say so, such as thread?max_workers=4"},
      {"job_processes",
       {"FRAY_JOB_PROCESSES"},
       text_of("FRAY_JOB_PROCESSES", "0"),
       "processes and threads of a job that asks for no limit, where control groups can be made; 0 for no limit"},
      {"keep_jobs", {"FRAY_KEEP_JOBS"}, text_of("FRAY_KEEP_JOBS", "1000"), "how many ended jobs a node remembers"},
      {"keep_jobs_days",
       {"FRAY_KEEP_JOBS_DAYS"},
       text_of("FRAY_KEEP_JOBS_DAYS", "30"),
       "for how many days a node remembers ended jobs"},
      {"iris_late_seconds",
       {"FRAY_IRIS_LATE_SECONDS"},
       text_of("FRAY_IRIS_LATE_SECONDS", "1.5"),
       "for how long after the end of a job on Iris its last lines are waited for"},
      {"namespace",
       {"FRAY_NAMESPACE"},
       text_of("FRAY_NAMESPACE", "default"),
       "where names of actors live when nothing else is said"},
      {"otel",
       {"FRAY_OTEL"},
       text_of("FRAY_OTEL", ""),
       "1 traces tasks, calls of actors, jobs and waits with OpenTelemetry"},
  };
}

int run_config_show(const ConfigArguments& arguments) {
  nlohmann::json document = {{"schema", "fray/v1"}, {"settings", nlohmann::json::object()}};
  for (const Setting& each : settings()) {
    document["settings"][each.name] = {
        {"value", each.value}, {"origin", each.origin()}, {"variables", each.variables}, {"meaning", each.meaning}};
    if (arguments.json) continue;
    fmt::print("{:<17} {}{}\n", each.name, each.value, arguments.origin ? "   (" + each.origin() + ")" : "");
  }
  if (arguments.json) fmt::print("{}\n", json_text(document, 2));
  Status checked = os::check_home();
  if (checked.is_ok()) return kExitOk;
  log_line("fray config: {}\n", checked.message());
  return kExitFailed;
}

int run_config(const ConfigArguments& arguments) {
  if (arguments.show) return run_config_show(arguments);
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
  log_line("fray: the C++ package is not installed beside this program; looked below:\n");
  for (const fs::path& prefix : all) log_line("  {}\n", prefix.string());
  return kExitFailed;
}

Command::Run add_config(CLI::App& command) {
  auto arguments = std::make_shared<ConfigArguments>();
  auto* group = command.add_option_group("one of");
  group->add_flag("--cmake-dir", arguments->cmake_dir, "Folder of frayConfig.cmake: give it as fray_DIR");
  group->add_flag("--include-dir", arguments->include_dir, "Folder of fray.h and fray/");
  group->add_flag("--lib-dir", arguments->library_dir, "Folder of libfray.so");
  group->add_flag("--pkg-config-dir", arguments->pkg_config_dir, "Folder of fray.pc: put it into PKG_CONFIG_PATH");
  group->require_option(0, 1);
  CLI::App* show = command.add_subcommand("show", "The settings that hold here");
  show->add_flag("--origin", arguments->origin, "And where each comes from");
  show->add_flag("--json", arguments->json, "One JSON document");
  show->callback([arguments] { arguments->show = true; });
  return [arguments] { return run_config(*arguments); };
}

const Command kConfig("config", "Where the C++ package is, and the settings that hold here", add_config);

}  // namespace

}  // namespace fray::cli
