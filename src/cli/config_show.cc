#include "cli/config_show.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "model/json_text.h"
#include "os/run_folder.h"

namespace fray::cli {

namespace {

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
       text_of("FRAY_CLUSTER_SPEC", "local"),
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
      {"namespace",
       {"FRAY_NAMESPACE"},
       text_of("FRAY_NAMESPACE", "default"),
       "where names of actors live when nothing else is said"},
  };
}

}  // namespace

CLI::App* add_config_show(CLI::App& config, ConfigShowArguments& arguments) {
  CLI::App* show = config.add_subcommand("show", "The settings that hold here");
  show->add_flag("--origin", arguments.origin, "And where each comes from");
  show->add_flag("--json", arguments.json, "One JSON document");
  return show;
}

int run_config_show(const ConfigShowArguments& arguments) {
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
  fmt::print(stderr, "fray config: {}\n", checked.message());
  return kExitFailed;
}

}  // namespace fray::cli
